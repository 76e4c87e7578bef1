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
        }
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
    num_tasks: usize,
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
            num_tasks,
            max_actions,
        }
    }

    /// Masked logits and values of features `[rows, features]`.
    pub fn forward(&self, features: Tensor<2>, rows: &RowTasks) -> Outputs {
        let logits = self.policy.forward(features.clone());
        let logits = self.pick(logits, self.max_actions, rows);
        let values = self.pick(self.value.forward(features), 1, rows);
        Outputs { logits: mask_logits(logits, rows.illegal.clone()), values: values.squeeze_dim(1) }
    }

    /// `[rows, num_tasks * columns]` to `[rows, columns]`: each row's own task.
    fn pick(&self, all: Tensor<2>, columns: usize, rows: &RowTasks) -> Tensor<2> {
        if self.num_tasks == 1 {
            return all;
        }
        let [count, _] = all.dims();
        let index = rows.task_ids.clone().reshape([count, 1, 1]).expand([count, 1, columns]);
        all.reshape([count, self.num_tasks, columns]).gather(1, index).squeeze_dim(1)
    }
}
