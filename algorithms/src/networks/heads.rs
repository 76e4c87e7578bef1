use burn::module::Module;
use burn::nn::Linear;
use burn::tensor::{Bool, Device, Int, Tensor, TensorData};

use super::{Initializer, Outputs, illegal_actions, mask_logits};
use crate::Task;

/// Which task each row of a batch belongs to, ready for the heads.
#[derive(Clone, Debug)]
pub struct RowTasks {
    /// `[rows]`.
    task_ids: Tensor<1, Int>,
    /// `[rows, max_actions]`.
    illegal: Tensor<2, Bool>,
    num_tasks: usize,
}

impl RowTasks {
    /// Rows of the given tasks (indices into `tasks`).
    pub fn new(task_ids: impl Iterator<Item = usize>, tasks: &[Task], device: &Device) -> Self {
        let task_ids: Vec<usize> = task_ids.collect();
        let counts: Vec<usize> = task_ids.iter().map(|&task| tasks[task].num_actions).collect();
        let max_actions = tasks.iter().map(|task| task.num_actions).max().unwrap_or(0);
        let ids: Vec<i32> = task_ids.iter().map(|&task| task as i32).collect();
        Self {
            task_ids: Tensor::from_data(TensorData::new(ids, [counts.len()]), device),
            illegal: illegal_actions(&counts, max_actions, device),
            num_tasks: tasks.len(),
        }
    }

    /// The mask of illegal actions, `[rows, max_actions]`.
    pub fn illegal(&self) -> Tensor<2, Bool> {
        self.illegal.clone()
    }

    /// What each row's own task says: `[rows, num_tasks * columns]`, task after task, to `[rows, columns]`.
    pub fn pick(&self, all: Tensor<2>, columns: usize) -> Tensor<2> {
        if self.num_tasks == 1 {
            return all;
        }
        let [rows, _] = all.dims();
        let index = self.task_ids.clone().reshape([rows, 1, 1]).expand([rows, 1, columns]);
        all.reshape([rows, self.num_tasks, columns]).gather(1, index).squeeze_dim(1)
    }
}

/// One policy head and one value head for each task, all evaluated in one operation.
///
/// The policy heads are columns of one matrix, `max_actions` for each task; each row's task picks its own, and the
/// columns beyond the task's action count are masked.
#[derive(Module, Debug)]
pub struct Heads {
    policy: Linear,
    value: Linear,
    max_actions: usize,
}

impl Heads {
    /// Heads for `num_tasks` tasks of at most `max_actions` actions over `features` features.
    ///
    /// Each task's heads start as if they were alone: the policy almost uniform (gain 0.01), the value with gain 1.
    pub fn new(
        features: usize,
        num_tasks: usize,
        max_actions: usize,
        initializer: &mut Initializer<'_>,
    ) -> Self {
        Self {
            policy: initializer.linears(features, max_actions, num_tasks, 0.01),
            value: initializer.linears(features, 1, num_tasks, 1.0),
            max_actions,
        }
    }

    /// Masked logits and values of features `[rows, features]`.
    pub fn forward(&self, features: Tensor<2>, rows: &RowTasks) -> Outputs {
        let logits = self.policy.forward(features.clone());
        let logits = rows.pick(logits, self.max_actions);
        let values = rows.pick(self.value.forward(features), 1);
        Outputs { logits: mask_logits(logits, rows.illegal()), values: values.squeeze_dim(1) }
    }
}

#[cfg(test)]
mod tests {
    use burn::optim::GradientsParams;
    use burn::tensor::activation::log_softmax;
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    const FEATURES: usize = 5;

    /// Heads, features and rows of random tasks with random action counts.
    struct Case {
        tasks: Vec<Task>,
        task_ids: Vec<usize>,
        heads: Heads,
        features: Tensor<2>,
        rows: RowTasks,
    }

    impl Case {
        fn random(seed: u64) -> Self {
            println!("seed {seed}");
            let device = Device::flex().autodiff();
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let tasks: Vec<Task> = (0..rng.random_range(1..6))
                .map(|index| Task { name: index.to_string(), num_actions: rng.random_range(1..=18) })
                .collect();
            let max_actions = tasks.iter().map(|task| task.num_actions).max().unwrap();
            let task_ids: Vec<usize> =
                (0..rng.random_range(1..12)).map(|_| rng.random_range(0..tasks.len())).collect();
            let numbers: Vec<f32> =
                (0..task_ids.len() * FEATURES).map(|_| rng.random_range(-300.0..300.0)).collect();
            let features = Tensor::from_data(TensorData::new(numbers, [task_ids.len(), FEATURES]), &device);
            let mut initializer = Initializer { rng: &mut rng, device: &device };
            let heads = Heads::new(FEATURES, tasks.len(), max_actions, &mut initializer);
            let rows = RowTasks::new(task_ids.iter().copied(), &tasks, &device);
            Self { tasks, task_ids, heads, features, rows }
        }

        fn log_probs(&self) -> Tensor<2> {
            log_softmax(self.heads.forward(self.features.clone(), &self.rows).logits, 1)
        }
    }

    fn host<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
        tensor.try_into_vec_as().unwrap()
    }

    #[test]
    fn illegal_actions_have_probability_zero_and_are_never_sampled() {
        for seed in 0..50 {
            let case = Case::random(seed);
            let log_probs = case.log_probs();
            let probabilities = host(log_probs.clone().exp());
            let log_probs = host(log_probs);
            let width = case.heads.max_actions;
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            for (row, &task) in case.task_ids.iter().enumerate() {
                let legal = case.tasks[task].num_actions;
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
    fn no_gradient_reaches_illegal_actions_and_absent_tasks() {
        for seed in 0..50 {
            let case = Case::random(seed);
            let log_probs = case.log_probs();
            // Any loss over all log-probabilities, the illegal ones too, as the entropy is.
            let loss = (log_probs.clone().exp() * log_probs.clone()).sum() + log_probs.exp().square().sum();
            let gradients = GradientsParams::from_grads(loss.backward(), &case.heads);
            let bias = case.heads.policy.bias.as_ref().unwrap();
            let gradient = host(gradients.get::<1>(bias.id).unwrap());
            assert!(gradient.iter().all(|number| number.is_finite()));
            for (task, gradient) in gradient.chunks_exact(case.heads.max_actions).enumerate() {
                let legal = if case.task_ids.contains(&task) { case.tasks[task].num_actions } else { 0 };
                assert!(gradient[legal..].iter().all(|&number| number == 0.0), "{gradient:?}");
            }
        }
    }

    #[test]
    fn every_row_is_judged_by_its_own_task_alone() {
        for seed in 0..50 {
            let case = Case::random(seed);
            let outputs = case.heads.forward(case.features.clone(), &case.rows);
            let (logits, values) = (host(outputs.logits), host(outputs.values));
            let (policy, value) = (host(case.heads.policy.weight.val()), host(case.heads.value.weight.val()));
            let features = host(case.features.clone());
            let (width, num_tasks) = (case.heads.max_actions, case.tasks.len());
            for (row, &task) in case.task_ids.iter().enumerate() {
                let product = |weights: &[f32], column: usize, columns: usize| -> f32 {
                    (0..FEATURES)
                        .map(|feature| {
                            features[row * FEATURES + feature] * weights[feature * columns + column]
                        })
                        .sum()
                };
                assert!((values[row] - product(&value, task, num_tasks)).abs() < 1e-2);
                for action in 0..case.tasks[task].num_actions {
                    let expected = product(&policy, task * width + action, num_tasks * width);
                    assert!((logits[row * width + action] - expected).abs() < 1e-3);
                }
            }
        }
    }
}
