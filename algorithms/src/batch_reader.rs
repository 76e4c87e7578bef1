use burn::tensor::{Device, Tensor};
use rl_env::{AutoresetMode, Batch, ObservationBuffer};

use crate::networks::{ObservationLayout, PackedRows, RowTasks, on_cpu};
use crate::{EnvSpec, LearnerError, SpecError, Task};

/// Rows of a batch as a network reads them.
pub(crate) struct ReadRows {
    /// `[rows, length]`.
    pub(crate) observations: Tensor<2>,
    pub(crate) tasks: RowTasks,
    /// What the observations were made of, where that is on a device.
    pub(crate) packed: Option<PackedRows>,
}

/// Turns rows of a vector environment's batches into what a network reads.
#[derive(Clone, Debug)]
pub(crate) struct BatchReader {
    layout: ObservationLayout,
    tasks: Vec<Task>,
    /// For each environment its index into `tasks`.
    task_ids: Vec<usize>,
    autoreset_mode: AutoresetMode,
    device: Device,
}

impl BatchReader {
    /// For the environments of `spec`, with tensors on `device`.
    pub(crate) fn new(spec: &EnvSpec, layout: ObservationLayout, device: Device) -> Self {
        Self {
            layout,
            tasks: spec.tasks.clone(),
            task_ids: spec.task_ids.clone(),
            autoreset_mode: spec.autoreset_mode,
            device,
        }
    }

    /// The same for other environments, whose tasks must be among the known ones.
    pub(crate) fn for_envs(&self, spec: &EnvSpec) -> Result<Self, SpecError> {
        let head = |task: &Task| {
            let same = |known: &Task| known.name == task.name && known.num_actions == task.num_actions;
            self.tasks.iter().position(same).ok_or_else(|| SpecError::UnknownTask {
                task: task.name.clone(),
                num_actions: task.num_actions,
                known: names(&self.tasks),
            })
        };
        let heads: Vec<usize> = spec.tasks.iter().map(head).collect::<Result<_, _>>()?;
        let task_ids = spec.task_ids.iter().map(|&task| heads[task]).collect();
        Ok(Self { task_ids, autoreset_mode: spec.autoreset_mode, ..self.clone() })
    }

    /// Whether a batch is of the environments that this was made for.
    pub(crate) fn check(&self, batch: &Batch) -> Result<(), LearnerError> {
        let [got, expected] = [batch.len(), self.task_ids.len()];
        if got != expected {
            return Err(LearnerError::ForeignBatch { what: "rows", got, expected });
        }
        let [got, expected] = [batch.observations.row_bytes(), self.layout.row_bytes()];
        if got != expected {
            return Err(LearnerError::ForeignBatch { what: "bytes an observation", got, expected });
        }
        Ok(())
    }

    /// The given rows of `observations`, row `i` being environment `i`'s.
    pub(crate) fn read(&self, observations: &ObservationBuffer, rows: &[usize]) -> ReadRows {
        let Self { layout, device, .. } = self;
        let task_ids = rows.iter().map(|&row| self.task_ids[row]);
        let bytes = rows.iter().map(|&row| observations.row(row));
        let tasks = RowTasks::new(task_ids, &self.tasks, device);
        if on_cpu(device) {
            return ReadRows { observations: layout.tensor(bytes, device), tasks, packed: None };
        }
        let packed = PackedRows::new(*layout, bytes, device);
        ReadRows { observations: packed.numbers(*layout), tasks, packed: Some(packed) }
    }

    pub(crate) fn num_envs(&self) -> usize {
        self.task_ids.len()
    }

    /// What happens at the end of an episode.
    pub(crate) fn autoreset_mode(&self) -> AutoresetMode {
        self.autoreset_mode
    }

    pub(crate) fn device(&self) -> &Device {
        &self.device
    }

    /// The task of a row's environment, among those that the learner knows.
    pub(crate) fn task(&self, row: usize) -> usize {
        self.task_ids[row]
    }

    /// How many actions the environment of a row has.
    pub(crate) fn num_actions(&self, row: usize) -> usize {
        self.tasks[self.task_ids[row]].num_actions
    }
}

/// Fails if the reward of a row is not finite.
pub(crate) fn check_rewards(batch: &Batch) -> Result<(), LearnerError> {
    match batch.rewards.iter().position(|reward| !reward.is_finite()) {
        Some(row) => Err(LearnerError::NonFinite { what: format!("the reward of environment {row}") }),
        None => Ok(()),
    }
}

fn names(tasks: &[Task]) -> String {
    let name = |task: &Task| format!("{:?} with {}", task.name, task.num_actions);
    tasks.iter().map(name).collect::<Vec<_>>().join(", ")
}
