use burn::tensor::{Int, Tensor};
use kernels::host::{floats, indices};

use super::row_targets::RowTargets;
use crate::engine::on_policy::OnPolicy;
use crate::experience::device_rollout::DeviceRollout;
use crate::networks::{ActorCritic, RowTasks};

/// The data of a complete rollout that minibatches need besides the observations, on the device, row by row in the
/// order of the [observations](DeviceRollout). It is uploaded once for all epochs.
pub(super) struct DeviceTargets {
    /// `[rows, 4]`: the columns of each row, as `row_targets` orders them.
    columns: Tensor<2>,
    /// `[rows]`: the task of each row.
    tasks: Tensor<1, Int>,
    /// `[rows]`: the option of each row, if each action is a single choice.
    options: Option<Tensor<1, Int>>,
    /// One row for each task.
    of_tasks: RowTasks,
}

impl DeviceTargets {
    /// Uploads the targets of a rollout.
    pub(super) fn new(
        on_policy: &OnPolicy<ActorCritic>,
        uploaded: &DeviceRollout,
        row: impl Fn(usize) -> [f32; 4],
    ) -> Self {
        let OnPolicy { spec, training, rollout, .. } = on_policy;
        let (entries, device) = (uploaded.entries(), &training.device);
        let columns = entries.iter().flat_map(|&entry| row(entry));
        let are_single = spec.tasks.iter().all(|task| task.actions.is_single_choice());
        let option = |&entry: &usize| rollout.action(entry)[0] as usize;
        Self {
            columns: floats(columns.collect(), [entries.len(), 4], device),
            tasks: indices(entries.iter().map(|&entry| on_policy.task(entry)), device),
            options: are_single.then(|| indices(entries.iter().map(option), device)),
            of_tasks: RowTasks::new(0..spec.tasks.len(), &spec.tasks, device),
        }
    }

    /// Selects the targets of rows.
    pub(super) fn targets(&self, rows: Tensor<1, Int>) -> RowTargets {
        let columns = self.columns.clone().select(0, rows);
        RowTargets::from_columns(|index| columns.clone().narrow(1, index, 1).squeeze_dim(1))
    }

    /// Selects the options of rows, if each action is a single choice.
    pub(super) fn options(&self, rows: Tensor<1, Int>) -> Option<Tensor<1, Int>> {
        self.options.as_ref().map(|options| options.clone().select(0, rows))
    }

    /// Returns the tasks of rows. `tasks` holds the same tasks on the host.
    pub(super) fn tasks(&self, tasks: Vec<usize>, rows: Tensor<1, Int>) -> RowTasks {
        self.of_tasks.select(tasks, self.tasks.clone().select(0, rows))
    }
}
