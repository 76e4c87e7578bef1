//! The policy and value heads of actor-critic networks.

use burn::module::{Module, Param};
use burn::nn::Linear;
use burn::tensor::{Tensor, TensorData};
use kernels::{Computation, fully_connected};

use super::rescale::ColumnRescaling;
use super::{Deviation, HeadKind, Initializer, Outputs, PolicyConfig, RowTasks, mask_logits};
use crate::VectorSpec;
use crate::networks::value_scale::Rescaling;

/// Assigns the output columns of a layer to tasks and to the options of their choices, called *outputs* for short.
#[derive(Module, Debug)]
pub(super) struct ActionColumns {
    #[module(skip)]
    kind: HeadKind,
    num_tasks: usize,
    max_outputs: usize,
    shared_outputs: usize,
}

impl ActionColumns {
    pub(super) fn new(spec: &VectorSpec, kind: HeadKind) -> Self {
        Self {
            kind,
            num_tasks: spec.tasks.len(),
            max_outputs: spec.max_outputs(),
            shared_outputs: spec.shared_outputs,
        }
    }

    /// Returns the number of layers side by side, and the number of outputs of each.
    pub(super) fn layers(&self) -> (usize, usize) {
        match self.kind {
            HeadKind::PerGame => (self.num_tasks, self.max_outputs),
            HeadKind::Shared => (1, self.shared_outputs),
        }
    }

    /// Returns `rows` if there are several tasks with a layer each, so that the outputs of a row need only the weights
    /// of its [own task](super::groups::GroupedRows::product).
    pub(super) fn grouping<'a>(&self, rows: &'a RowTasks) -> Option<&'a RowTasks> {
        let (layers, _) = self.layers();
        (layers > 1).then_some(rows)
    }

    /// Applies a layer to features `[rows, features]` and returns the outputs of each row's task,
    /// `[rows, max_outputs]`. Those beyond the outputs of the task are arbitrary.
    pub(super) fn forward(&self, layer: &Linear, features: Tensor<2>, rows: &RowTasks) -> Tensor<2> {
        let outputs = match self.grouping(rows) {
            Some(rows) => rows.group(&features).linear(layer),
            None => fully_connected(layer, features, Computation::plain(false)),
        };
        self.arrange(outputs, 1, rows).squeeze_dim(2)
    }

    /// Arranges the outputs of each row's task as `[rows, max_outputs, columns]`. With [`grouping`](Self::grouping),
    /// `outputs` holds only the outputs of each row's own task. Those beyond the outputs of the task are arbitrary.
    pub(super) fn arrange(&self, outputs: Tensor<2>, columns: usize, rows: &RowTasks) -> Tensor<3> {
        let (_, actions) = self.layers();
        let [count, _] = outputs.dims();
        let outputs = outputs.reshape([count, actions, columns]);
        match self.kind {
            HeadKind::PerGame => outputs,
            HeadKind::Shared => rows.pick_shared(outputs),
        }
    }
}

/// Policy and value heads for all tasks.
///
/// An action is one or several choices (see [`JointActions`](crate::JointActions)), and each option has a column. With
/// a head per game, the policies are columns of one matrix, `max_outputs` for each task. Each row is multiplied by the
/// columns of its task, and the outputs beyond those of the task are masked. A shared head has a column for each output
/// of any task, from which a row selects those of its task. In both cases each task has its own value head, because the
/// size of returns differs between tasks.
///
/// Each component of a continuous action has a normal distribution, whose mean is an output. Its standard deviation is
/// a parameter of the task or another output.
#[derive(Module, Debug)]
pub struct Heads {
    policy: Linear,
    value: Linear,
    /// `[tasks, max_outputs]`: the logarithms of the standard deviations of continuous actions, if they are parameters.
    log_deviations: Option<Param<Tensor<2>>>,
    /// The layer that outputs the logarithms of the standard deviations of continuous actions, if they depend on the
    /// observation.
    log_deviation: Option<Linear>,
    #[module(skip)]
    squashes: bool,
    columns: ActionColumns,
}

impl Heads {
    /// Creates heads for the tasks of `spec` over `features` features.
    ///
    /// Each task's heads are initialised as if they were the only ones: the policy almost uniform (gain 0.01) or with
    /// standard deviations of about 1, the value with gain 1.
    pub fn new(
        features: usize,
        spec: &VectorSpec,
        config: &PolicyConfig,
        initializer: &mut Initializer<'_>,
    ) -> Self {
        let columns = ActionColumns::new(spec, config.head);
        let (layers, actions) = columns.layers();
        let policy = initializer.linears(features, actions, layers, 0.01);
        let value = initializer.linears(features, 1, spec.tasks.len(), 1.0);
        let has_deviations = |deviation| spec.max_components() > 0 && config.deviation == deviation;
        let log_deviations = has_deviations(Deviation::Parameter).then(|| {
            let shape = [spec.tasks.len(), spec.max_components()];
            Param::from_data(TensorData::zeros::<f32, _>(shape), initializer.device)
        });
        let log_deviation =
            has_deviations(Deviation::State).then(|| initializer.linears(features, actions, layers, 0.01));
        Self { policy, value, log_deviations, log_deviation, squashes: config.squash_actions, columns }
    }

    /// Returns the numbers of features and of tasks.
    pub(super) fn shape(&self) -> [usize; 2] {
        self.value.weight.dims()
    }

    /// Returns the heads adapted to new value scales, one for each task, with the same predictions.
    pub(super) fn rescale_values(mut self, changes: &[Rescaling]) -> Self {
        self.value = ColumnRescaling::new(changes, 1).linear(self.value);
        self
    }

    /// Computes the values of features `[rows, features]`, and their logits or the means of continuous actions. Logits
    /// beyond the outputs of a row's task are masked.
    pub fn forward(&self, features: Tensor<2>, rows: &RowTasks) -> Outputs {
        // burn's product with a single column sums in an order that depends on the number of rows.
        let values = rows.pick(fully_connected(&self.value, features.clone(), Computation::plain(false)));
        let outputs = self.columns.forward(&self.policy, features.clone(), rows);
        let log_deviations = match (&self.log_deviations, &self.log_deviation) {
            (Some(parameters), _) => Some(rows.embed(parameters.val())),
            (None, Some(layer)) => Some(self.columns.forward(layer, features, rows)),
            (None, None) => None,
        };
        let logits = if log_deviations.is_some() { outputs } else { mask_logits(outputs, rows.illegal()) };
        Outputs {
            logits,
            log_deviations,
            squashes: self.squashes,
            values: values.squeeze_dim(1),
            intrinsic_values: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use burn::optim::GradientsParams;
    use burn::tensor::Device;
    use burn::tensor::activation::log_softmax;
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::testing::random_spec;
    use crate::{JointActions, Task};

    const FEATURES: usize = 5;

    /// Heads, features and rows of random tasks with random actions.
    struct Case {
        spec: VectorSpec,
        heads: Heads,
        features: Tensor<2>,
        rows: RowTasks,
    }

    impl Case {
        fn random(seed: u64, kind: HeadKind) -> Self {
            println!("seed {seed}, {kind:?}");
            let device = Device::flex().autodiff();
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let spec = random_spec(&mut rng);
            let values: Vec<f32> =
                (0..spec.num_envs() * FEATURES).map(|_| rng.random_range(-300.0..300.0)).collect();
            let features = Tensor::from_data(TensorData::new(values, [spec.num_envs(), FEATURES]), &device);
            let mut initializer = Initializer { rng: &mut rng, device: &device };
            let config = PolicyConfig { head: kind, ..PolicyConfig::default() };
            let heads = Heads::new(FEATURES, &spec, &config, &mut initializer);
            let rows = RowTasks::new(spec.task_ids.iter().copied(), &spec.tasks, &device);
            Self { spec, heads, features, rows }
        }

        /// Returns fifty cases of each kind.
        fn all() -> impl Iterator<Item = Self> {
            let kinds = [HeadKind::PerGame, HeadKind::Shared];
            kinds.into_iter().flat_map(|kind| (0..50).map(move |seed| Self::random(seed, kind)))
        }

        fn log_probs(&self) -> Tensor<2> {
            log_softmax(self.heads.forward(self.features.clone(), &self.rows).logits, 1)
        }

        /// Returns the columns of the policy's matrix that belong to the legal actions of a task, in order.
        fn columns(&self, task: usize) -> Vec<usize> {
            let Task { actions, shared, .. } = &self.spec.tasks[task];
            match self.heads.columns.kind {
                HeadKind::PerGame => {
                    (0..actions.num_outputs()).map(|output| task * self.spec.max_outputs() + output).collect()
                }
                HeadKind::Shared => shared.clone(),
            }
        }
    }

    fn host<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
        tensor.try_into_vec_as().unwrap()
    }

    #[test]
    fn illegal_actions_have_probability_zero_and_are_never_sampled() {
        for case in Case::all() {
            let log_probs = case.log_probs();
            let probabilities = host(log_probs.clone().exp());
            let log_probs = host(log_probs);
            let width = case.spec.max_outputs();
            let mut rng = ChaCha8Rng::seed_from_u64(1);
            for (row, &task) in case.spec.task_ids.iter().enumerate() {
                let legal = case.spec.tasks[task].actions.num_outputs();
                let probabilities = &probabilities[row * width..(row + 1) * width];
                assert!(probabilities[legal..].iter().all(|&probability| probability == 0.0));
                assert!((probabilities.iter().sum::<f32>() - 1.0).abs() < 1e-5);
                let log_probs = &log_probs[row * width..(row + 1) * width];
                assert!(log_probs.iter().all(|log_prob| log_prob.is_finite()));
                for _ in 0..20 {
                    assert!(crate::tasks::categorical::sample(log_probs, &mut rng) < legal);
                }
            }
        }
    }

    #[test]
    fn outputs_of_a_row_do_not_depend_on_the_other_rows() {
        assert_independence(5, &[1, 2, 3, 5, 8, 17, 40]);
        // The value head has a single column.
        assert_independence(1, &[1, 7, 255, 256, 600]);
    }

    fn assert_independence(num_tasks: usize, counts: &[usize]) {
        const FEATURES: usize = 512;
        let device = Device::flex();
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let spec = VectorSpec {
            tasks: (0..num_tasks).map(|task| Task::new(format!("task {task}"), 3 + 3 * task)).collect(),
            ..random_spec(&mut rng)
        };
        let mut initializer = Initializer { rng: &mut rng, device: &device };
        let heads = Heads::new(FEATURES, &spec, &PolicyConfig::default(), &mut initializer);
        let mut random = |count: usize| -> Vec<f32> {
            (0..count * FEATURES).map(|_| rng.random_range(-1.0..1.0)).collect()
        };
        let outputs = |features: &[f32], tasks: &[usize]| {
            let features = TensorData::new(features.to_vec(), [tasks.len(), FEATURES]);
            let rows = RowTasks::new(tasks.iter().copied(), &spec.tasks, &device);
            let Outputs { logits, values, .. } = heads.forward(Tensor::from_data(features, &device), &rows);
            (host(logits), host(values))
        };
        for &count in counts {
            let others: Vec<usize> = (0..count).map(|row| (row * row + row / 3) % num_tasks).collect();
            let (own, features) = (random(1), random(count));
            let width = spec.max_outputs();
            for task in 0..num_tasks {
                let (alone, alone_value) = outputs(&own, &[task]);
                let all = outputs(
                    &[own.clone(), features.clone()].concat(),
                    &[vec![task], others.clone()].concat(),
                );
                assert_eq!(
                    (&all.0[..width], all.1[0]),
                    (&*alone, alone_value[0]),
                    "{count} others, task {task}"
                );
            }
        }
    }

    #[test]
    fn no_gradient_reaches_illegal_actions_and_absent_tasks() {
        for case in Case::all() {
            let log_probs = case.log_probs();
            // Any loss over all log-probabilities, including the illegal ones, like the entropy.
            let loss = (log_probs.clone().exp() * log_probs.clone()).sum() + log_probs.exp().square().sum();
            let gradients = GradientsParams::from_grads(loss.backward(), &case.heads);
            let bias = case.heads.policy.bias.as_ref().unwrap();
            let gradient = host(gradients.get::<1>(bias.id).unwrap());
            assert!(gradient.iter().all(|value| value.is_finite()));
            let legal: Vec<usize> = case.spec.task_ids.iter().flat_map(|&task| case.columns(task)).collect();
            for (column, &value) in gradient.iter().enumerate() {
                assert!(value == 0.0 || legal.contains(&column), "{column}: {gradient:?}");
            }
        }
    }

    #[test]
    fn options_that_a_mask_does_not_allow_have_no_probability_and_no_gradient() {
        let device = Device::flex().autodiff();
        let task = Task::of_actions("task", JointActions::discrete(4));
        let tasks = [Task { actions: task.actions.clone().masked(), ..task }];
        let masks: [&[u8]; 2] = [&[1, 0, 1, 0], &[0, 1, 0, 0]];
        let rows = RowTasks::new([0, 0].into_iter(), &tasks, &device).masked(masks.into_iter());
        let forbidden = [1, 3, 4, 6, 7];
        let assert_close = |found: &[f32], expected: [f32; 8]| {
            let is_close = |(found, expected): (&f32, f32)| (found - expected).abs() < 1e-6;
            assert!(found.iter().zip(expected).all(is_close), "{found:?}");
            assert!(forbidden.into_iter().all(|option| found[option] == 0.0), "{found:?}");
        };
        let log_probs = |logits: Tensor<2>| log_softmax(mask_logits(logits, rows.illegal()), 1);
        let logits = || {
            Tensor::<2>::from_floats([[0.0, 9.0, 3f32.ln(), 9.0], [1.0, 2.0, 3.0, 4.0]], &device)
                .require_grad()
        };
        let gradient = |of: fn(Tensor<2>) -> Tensor<1>| {
            let logits = logits();
            host(logits.grad(&of(log_probs(logits.clone())).backward()).unwrap())
        };
        // Probabilities 1/4 and 3/4 of the first and the third option, and certainty of the second.
        let probabilities = host(log_probs(logits()).exp());
        assert_close(&probabilities, [0.25, 0.0, 0.75, 0.0, 0.0, 1.0, 0.0, 0.0]);
        // The gradient of the log-probability of an option is its one-hot vector minus the probabilities.
        let of_third = gradient(|log_probs| log_probs.slice([0..1, 2..3]).sum());
        assert_close(&of_third, [-0.25, 0.0, 0.25, 0.0, 0.0, 0.0, 0.0, 0.0]);
        let of_only = gradient(|log_probs| log_probs.slice([1..2, 1..2]).sum());
        assert_close(&of_only, [0.0; 8]);
        // The gradient of the entropy H, the negative sum of p ln p, is -p (ln p + H).
        let of_entropy = gradient(|log_probs| (log_probs.clone().exp() * log_probs).sum().neg());
        let entropy = -(0.25 * 0.25f32.ln() + 0.75 * 0.75f32.ln());
        let of = |probability: f32| -probability * (probability.ln() + entropy);
        assert_close(&of_entropy, [of(0.25), 0.0, of(0.75), 0.0, 0.0, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn every_row_uses_only_the_heads_of_its_task() {
        for case in Case::all() {
            let outputs = case.heads.forward(case.features.clone(), &case.rows);
            let (logits, values) = (host(outputs.logits), host(outputs.values));
            let (policy, value) = (host(case.heads.policy.weight.val()), host(case.heads.value.weight.val()));
            let features = host(case.features.clone());
            let [_, all] = case.heads.policy.weight.dims();
            for (row, &task) in case.spec.task_ids.iter().enumerate() {
                let product = |weights: &[f32], column: usize, columns: usize| -> f32 {
                    (0..FEATURES)
                        .map(|feature| {
                            features[row * FEATURES + feature] * weights[feature * columns + column]
                        })
                        .sum()
                };
                assert!((values[row] - product(&value, task, case.spec.tasks.len())).abs() < 1e-2);
                for (action, column) in case.columns(task).into_iter().enumerate() {
                    let expected = product(&policy, column, all);
                    assert!((logits[row * case.spec.max_outputs() + action] - expected).abs() < 1e-3);
                }
            }
        }
    }
}
