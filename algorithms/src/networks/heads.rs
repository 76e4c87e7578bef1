use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use burn::module::{Module, Param};
use burn::nn::Linear;
use burn::tensor::{Bool, Device, Int, Tensor, TensorData};

use super::rescale::ColumnRescaling;
use super::{Deviation, HeadKind, Initializer, Outputs, PolicyConfig, illegal_actions, mask_logits};
use crate::host::{floats, integers};
use crate::value_scale::Rescaling;
use crate::vector_spec::max_outputs;
use crate::{Task, VectorSpec};

/// The task of each row of a batch, prepared for the heads.
#[derive(Clone, Debug)]
pub struct RowTasks {
    /// `[rows]`.
    task_ids: Tensor<1, Int>,
    /// The same on the host.
    tasks: Vec<usize>,
    /// `[rows, max_outputs]`.
    illegal: Tensor<2, Bool>,
    /// `[rows, max_outputs]`: for each output of the row's task the index of the shared output; 0 beyond the task's outputs.
    shared: OnceLock<Tensor<2, Int>>,
    /// The same on the host.
    shared_outputs: Vec<i32>,
    /// The groups of the rows, if they have been needed.
    groups: Arc<OnceLock<GroupIndices>>,
    /// For each choice of an action its legal outputs, `[rows, max_outputs]`: 1 for an output of the choice that belongs to a
    /// legal action of the row's task, else 0. Empty if each task has a single choice.
    choices: Vec<Tensor<2>>,
    num_tasks: usize,
}

impl RowTasks {
    /// Creates rows of the given tasks, which are indices into `tasks`.
    pub fn new(task_ids: impl Iterator<Item = usize>, tasks: &[Task], device: &Device) -> Self {
        let task_ids: Vec<usize> = task_ids.collect();
        let counts: Vec<usize> = task_ids.iter().map(|&task| tasks[task].actions.num_outputs()).collect();
        let max_outputs = max_outputs(tasks);
        let ids: Vec<i32> = task_ids.iter().map(|&task| task as i32).collect();
        let shared = task_ids.iter().flat_map(|&task| {
            let shared = tasks[task].shared.iter().map(|&output| output as i32);
            shared.chain(std::iter::repeat(0)).take(max_outputs)
        });
        Self {
            shared: OnceLock::new(),
            shared_outputs: shared.collect(),
            groups: Arc::default(),
            task_ids: integers(ids, [counts.len()], device),
            illegal: illegal_actions(&counts, max_outputs, device),
            choices: legal_outputs(&task_ids, tasks, device),
            tasks: task_ids,
            num_tasks: tasks.len(),
        }
    }

    /// Returns rows of the given tasks, which are also in `task_ids`, `[rows]`, without transfers to the device. `self` must have
    /// a single row for each task, in order.
    pub(crate) fn select(&self, tasks: Vec<usize>, task_ids: Tensor<1, Int>) -> Self {
        let choices = self.choices.iter().map(|legal| legal.clone().select(0, task_ids.clone()));
        Self {
            illegal: self.illegal.clone().select(0, task_ids.clone()),
            shared: OnceLock::from(self.shared().clone().select(0, task_ids.clone())),
            shared_outputs: Vec::new(),
            groups: Arc::default(),
            choices: choices.collect(),
            num_tasks: self.num_tasks,
            task_ids,
            tasks,
        }
    }

    /// Returns the mask of the columns beyond the outputs of each row's task, `[rows, max_outputs]`.
    pub fn illegal(&self) -> Tensor<2, Bool> {
        self.illegal.clone()
    }

    /// Returns for each choice of an action its legal outputs, `[rows, max_outputs]`: 1 for an output of the choice that
    /// belongs to a legal action, else 0. Empty if each task has a single choice.
    pub(super) fn choices(&self) -> &[Tensor<2>] {
        &self.choices
    }

    /// Selects the column of each row's task: `[rows, num_tasks]` to `[rows, 1]`.
    pub(super) fn pick(&self, all: Tensor<2>) -> Tensor<2> {
        if self.num_tasks == 1 { all } else { all.gather(1, self.task_ids.clone().unsqueeze_dim(1)) }
    }

    /// Groups the rows of `input`, `[rows, inputs]`, by task.
    pub(super) fn group(&self, input: &Tensor<2>) -> GroupedRows {
        let [_, inputs] = input.dims();
        let GroupIndices { size, rows, tasks, places } = self.groups.get_or_init(|| self.group_indices());
        let [count] = tasks.dims();
        GroupedRows {
            input: input.clone().select(0, rows.clone()).reshape([count, *size, inputs]),
            tasks: (count < self.num_tasks).then(|| tasks.clone()),
            places: places.clone(),
            num_tasks: self.num_tasks,
        }
    }

    /// Uploads the groups of the rows, together.
    fn group_indices(&self) -> GroupIndices {
        let Groups { tasks, size, rows, places } = Groups::of(&self.tasks);
        let [num_rows, num_tasks, num_places] = [rows.len(), tasks.len(), places.len()];
        let all = [rows, tasks, places].concat();
        let length = all.len();
        let all = integers(all, [length], &self.task_ids.device());
        GroupIndices {
            size,
            rows: all.clone().narrow(0, 0, num_rows),
            tasks: all.clone().narrow(0, num_rows, num_tasks),
            places: all.narrow(0, num_rows + num_tasks, num_places),
        }
    }

    /// Selects the values of each row's task: `[tasks, values]` to `[rows, values]`.
    pub fn embed(&self, of_tasks: Tensor<2>) -> Tensor<2> {
        of_tasks.select(0, self.task_ids.clone())
    }

    /// Selects each row's outputs from the shared ones: `[rows, shared outputs, columns]` to
    /// `[rows, max_outputs, columns]`.
    fn pick_shared(&self, all: Tensor<3>) -> Tensor<3> {
        let [rows, _, columns] = all.dims();
        let shared = self.shared();
        let [_, max_outputs] = shared.dims();
        all.gather(1, shared.clone().unsqueeze_dim::<3>(2).expand([rows, max_outputs, columns]))
    }

    fn shared(&self) -> &Tensor<2, Int> {
        self.shared.get_or_init(|| {
            let rows = self.tasks.len();
            let shape = [rows, self.shared_outputs.len() / rows];
            integers(self.shared_outputs.clone(), shape, &self.task_ids.device())
        })
    }
}

/// Returns the tensors of [`RowTasks::choices`].
fn legal_outputs(task_ids: &[usize], tasks: &[Task], device: &Device) -> Vec<Tensor<2>> {
    let most = tasks.iter().map(|task| task.actions.num_choices()).max().unwrap_or(0);
    if most < 2 {
        return Vec::new();
    }
    let width = max_outputs(tasks);
    let of_choice = |choice: usize| {
        let mut legal = vec![0.0; task_ids.len() * width];
        for (row, &task) in task_ids.iter().enumerate() {
            for column in tasks[task].actions.expect_joint().columns_of(choice) {
                legal[row * width + column] = 1.0;
            }
        }
        floats(legal, [task_ids.len(), width], device)
    };
    (0..most).map(of_choice).collect()
}

/// The rows of a batch, grouped by task.
#[derive(Debug, PartialEq)]
struct Groups {
    /// The tasks that have rows, in ascending order.
    tasks: Vec<i32>,
    /// The number of rows of the largest group.
    size: usize,
    /// For each group its rows, padded to `size` with row 0.
    rows: Vec<i32>,
    /// For each row of the batch its index in `rows`.
    places: Vec<i32>,
}

impl Groups {
    fn of(tasks: &[usize]) -> Self {
        let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (row, &task) in tasks.iter().enumerate() {
            groups.entry(task).or_default().push(row);
        }
        let size = groups.values().map(Vec::len).max().unwrap_or(0);
        let mut rows = vec![0; groups.len() * size];
        let mut places = vec![0; tasks.len()];
        for (group, members) in groups.values().enumerate() {
            for (place, &row) in (group * size..).zip(members) {
                rows[place] = row as i32;
                places[row] = place as i32;
            }
        }
        Self { tasks: groups.into_keys().map(|task| task as i32).collect(), size, rows, places }
    }
}

/// The groups of rows on a device, as in [`Groups`].
#[derive(Clone, Debug)]
struct GroupIndices {
    size: usize,
    rows: Tensor<1, Int>,
    tasks: Tensor<1, Int>,
    places: Tensor<1, Int>,
}

/// The rows of a batch, grouped by task, as inputs of layers that have weights for each task.
///
/// All groups are padded to the size of the largest. The effort of a product does not grow with the number of tasks.
pub(super) struct GroupedRows {
    /// `[groups, size, inputs]`.
    input: Tensor<3>,
    /// The task of each group; none if every task has one.
    tasks: Option<Tensor<1, Int>>,
    /// For each row of the batch its index in `groups * size`.
    places: Tensor<1, Int>,
    num_tasks: usize,
}

impl GroupedRows {
    /// Multiplies each row by the weights of its own task: `[inputs, num_tasks * columns]` and `[num_tasks * columns]`, task
    /// by task, to `[rows, columns]`.
    pub(super) fn product(&self, weight: Tensor<2>, bias: Tensor<1>) -> Tensor<2> {
        let [count, size, inputs] = self.input.dims();
        let [_, all] = weight.dims();
        let columns = all / self.num_tasks;
        let weight = weight.reshape([inputs, self.num_tasks, columns]);
        let bias = bias.reshape([self.num_tasks, columns]);
        let (weight, bias) = match &self.tasks {
            None => (weight, bias),
            Some(tasks) => (weight.select(1, tasks.clone()), bias.select(0, tasks.clone())),
        };
        let outputs = self.input.clone().matmul(weight.swap_dims(0, 1)) + bias.unsqueeze_dim(1);
        outputs.reshape([count * size, columns]).select(0, self.places.clone())
    }

    /// Computes the outputs of a layer with weights for each task, `[rows, columns]`.
    fn linear(&self, Linear { weight, bias }: &Linear) -> Tensor<2> {
        self.product(weight.val(), bias.as_ref().expect("the layer has a bias").val())
    }
}

/// The assignment of a layer's output columns to tasks and the options of their choices, in short *outputs*.
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

    /// Returns `rows` if each task has a layer for itself among several, so that the outputs of a row need only the weights
    /// of its [own](GroupedRows::product).
    pub(super) fn grouping<'a>(&self, rows: &'a RowTasks) -> Option<&'a RowTasks> {
        let (layers, _) = self.layers();
        (layers > 1).then_some(rows)
    }

    /// Computes the outputs of each row's task by a layer over features `[rows, features]`: `[rows, max_outputs]`. Those beyond
    /// the outputs of the task are arbitrary.
    pub(super) fn forward(&self, layer: &Linear, features: Tensor<2>, rows: &RowTasks) -> Tensor<2> {
        let outputs = match self.grouping(rows) {
            Some(rows) => rows.group(&features).linear(layer),
            None => layer.forward(features),
        };
        self.arrange(outputs, 1, rows).squeeze_dim(2)
    }

    /// Arranges the outputs of each row's task, of which [`grouping`](Self::grouping) has multiplied only its
    /// own: to `[rows, max_outputs, columns]`. Those beyond the outputs of the task are arbitrary.
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
/// An action is one or several choices (see [`JointActions`](crate::JointActions)), whose options have a column each. With a
/// head per game the policies are columns of one matrix, `max_outputs` for each task. Each row is multiplied by those of its
/// task, and the outputs beyond those of the task are masked. A shared head has a column for each output of any task, from which a row selects those of its task. Each task has its own
/// value head in both cases, because returns differ in size between tasks.
///
/// Continuous actions have a normal distribution for each component, whose mean is an output. Its deviation is a parameter of
/// the task, or an output too.
#[derive(Module, Debug)]
pub struct Heads {
    policy: Linear,
    value: Linear,
    /// `[tasks, max_outputs]`: the logarithms of the deviations of continuous actions, if they are parameters.
    log_deviations: Option<Param<Tensor<2>>>,
    /// The layer of the logarithms of the deviations of continuous actions, if they depend on the observation.
    log_deviation: Option<Linear>,
    #[module(skip)]
    squashes: bool,
    columns: ActionColumns,
}

impl Heads {
    /// Creates heads for the tasks of `spec` over `features` features.
    ///
    /// Each task's heads are initialised as if they were alone: the policy almost uniform (gain 0.01) or with deviations of
    /// about 1, the value with gain 1.
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

    /// Returns the heads with the same predictions in new value scales, one for each task.
    pub(super) fn rescale_values(mut self, changes: &[Rescaling]) -> Self {
        self.value = ColumnRescaling::new(changes, 1).linear(self.value);
        self
    }

    /// Computes logits, of which those beyond a task's outputs are masked, or the means of continuous actions, and the values
    /// of features `[rows, features]`.
    pub fn forward(&self, features: Tensor<2>, rows: &RowTasks) -> Outputs {
        let values = rows.pick(self.value.forward(features.clone()));
        let outputs = self.columns.forward(&self.policy, features.clone(), rows);
        let log_deviations = match (&self.log_deviations, &self.log_deviation) {
            (Some(parameters), _) => Some(rows.embed(parameters.val())),
            (None, Some(layer)) => Some(self.columns.forward(layer, features, rows)),
            (None, None) => None,
        };
        let logits = if log_deviations.is_some() { outputs } else { mask_logits(outputs, rows.illegal()) };
        Outputs { logits, log_deviations, squashes: self.squashes, values: values.squeeze_dim(1) }
    }
}

#[cfg(test)]
mod tests {
    use burn::optim::GradientsParams;
    use burn::tensor::activation::log_softmax;
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::testing::random_spec;

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

        /// Fifty cases of each kind.
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
                    assert!(crate::categorical::sample(log_probs, &mut rng) < legal);
                }
            }
        }
    }

    #[test]
    fn rows_are_grouped_by_task() {
        let groups = Groups::of(&[3, 0, 3, 3, 0]);
        let expected =
            Groups { tasks: vec![0, 3], size: 3, rows: vec![1, 4, 0, 0, 2, 3], places: vec![3, 0, 4, 5, 1] };
        assert_eq!(groups, expected);
    }

    #[test]
    fn outputs_of_a_row_do_not_depend_on_the_other_rows() {
        const FEATURES: usize = 512;
        const TASKS: usize = 5;
        let device = Device::flex();
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let spec = VectorSpec {
            tasks: (0..TASKS).map(|task| Task::new(format!("task {task}"), 3 + 3 * task)).collect(),
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
        for count in [1, 2, 3, 5, 8, 17, 40] {
            let others: Vec<usize> = (0..count).map(|row| (row * row + row / 3) % TASKS).collect();
            let (own, features) = (random(1), random(count));
            let width = spec.max_outputs();
            for task in 0..TASKS {
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
            assert!(gradient.iter().all(|number| number.is_finite()));
            let legal: Vec<usize> = case.spec.task_ids.iter().flat_map(|&task| case.columns(task)).collect();
            for (column, &number) in gradient.iter().enumerate() {
                assert!(number == 0.0 || legal.contains(&column), "{column}: {gradient:?}");
            }
        }
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
