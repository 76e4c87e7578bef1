use std::ops::Range;

use burn::tensor::{Device, Tensor};
use rl_env::{AutoresetMode, Batch, ObservationBuffer};

use crate::networks::{ObservationLayout, PackedRows, RowTasks, on_cpu};
use crate::{JointActions, LearnerError, SpecError, Task, TaskActions, VectorSpec};

/// Rows of a batch, ready for a network.
pub(crate) struct ReadRows {
    /// `[rows, length]`.
    pub(crate) observations: Tensor<2>,
    pub(crate) tasks: RowTasks,
    /// The packed observations, if they are on a device.
    pub(crate) packed: Option<PackedRows>,
}

/// A row of a batch, and its environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BatchRow {
    pub(crate) row: usize,
    pub(crate) env: usize,
}

/// Returns all rows of a batch.
pub(crate) fn rows(batch: &Batch) -> Vec<BatchRow> {
    batch.env_ids.iter().enumerate().map(|(row, &env)| BatchRow { row, env }).collect()
}

/// Turns rows of batches into the inputs of a network.
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
    /// Creates a reader for the environments of `spec`, with tensors on `device`.
    pub(crate) fn new(spec: &VectorSpec, layout: ObservationLayout, device: Device) -> Self {
        Self {
            layout,
            tasks: spec.tasks.clone(),
            task_ids: spec.task_ids.clone(),
            autoreset_mode: spec.autoreset_mode,
            device,
        }
    }

    /// Returns a reader for other environments. Their tasks must be known.
    pub(crate) fn for_envs(&self, spec: &VectorSpec) -> Result<Self, SpecError> {
        let head = |task: &Task| {
            // Policies may factor the actions of an environment.
            let same =
                |known: &Task| known.name == task.name && known.actions.space() == task.actions.space();
            self.tasks.iter().position(same).ok_or_else(|| SpecError::UnknownTask {
                task: task.name.clone(),
                actions: task.actions.to_string(),
                known: names(&self.tasks),
            })
        };
        let heads: Vec<usize> = spec.tasks.iter().map(head).collect::<Result<_, _>>()?;
        let task_ids = spec.task_ids.iter().map(|&task| heads[task]).collect();
        Ok(Self { task_ids, autoreset_mode: spec.autoreset_mode, ..self.clone() })
    }

    /// Fails unless a batch holds all environments of `own`, each once and in order.
    pub(crate) fn check_complete(&self, batch: &Batch, own: &Range<usize>) -> Result<(), LearnerError> {
        let expected = own.len();
        let of_own = batch.env_ids.iter().filter(|env| own.contains(env)).count();
        match [batch.len(), of_own].into_iter().find(|&got| got != expected) {
            Some(got) => Err(LearnerError::ForeignBatch { what: "rows", got, expected }),
            None => self.check(batch),
        }
    }

    /// Fails unless a batch holds some of the environments, each at most once and in order.
    pub(crate) fn check(&self, batch: &Batch) -> Result<(), LearnerError> {
        if !batch.env_ids.is_sorted_by(|left, right| left < right) {
            return Err(LearnerError::DisorderedBatch);
        }
        let [got, expected] = [batch.env_ids.last().map_or(0, |last| last + 1), self.task_ids.len()];
        if got > expected {
            return Err(LearnerError::ForeignBatch { what: "environments", got, expected });
        }
        let [got, expected] = [batch.observations.row_bytes(), self.layout.row_bytes()];
        if got != expected {
            return Err(LearnerError::ForeignBatch { what: "bytes per observation", got, expected });
        }
        Ok(())
    }

    /// Reads the given rows of `observations`.
    pub(crate) fn read(&self, observations: &ObservationBuffer, rows: &[BatchRow]) -> ReadRows {
        let Self { layout, device, .. } = self;
        let task_ids = rows.iter().map(|row| self.task_ids[row.env]);
        let bytes = rows.iter().map(|row| observations.row(row.row));
        let tasks = RowTasks::new(task_ids, &self.tasks, device);
        if on_cpu(device) {
            return ReadRows { observations: layout.tensor(bytes, device), tasks, packed: None };
        }
        let packed = PackedRows::new(*layout, bytes, device);
        ReadRows { observations: packed.unpack(*layout), tasks, packed: Some(packed) }
    }

    pub(crate) fn num_envs(&self) -> usize {
        self.task_ids.len()
    }

    /// Returns the autoreset mode of the environments.
    pub(crate) fn autoreset_mode(&self) -> AutoresetMode {
        self.autoreset_mode
    }

    pub(crate) fn device(&self) -> &Device {
        &self.device
    }

    /// Returns the task of an environment, as an index into the tasks that the learner was made for.
    pub(crate) fn task(&self, env: usize) -> usize {
        self.task_ids[env]
    }

    /// Returns the actions of an environment.
    pub(crate) fn actions(&self, env: usize) -> &TaskActions {
        &self.tasks[self.task_ids[env]].actions
    }

    /// Returns true if the actions are continuous.
    pub(crate) fn has_continuous_actions(&self) -> bool {
        self.tasks.iter().any(|task| task.actions.joint().is_none())
    }

    /// Returns the choices of an environment's actions.
    ///
    /// # Panics
    /// Panics if its actions are continuous.
    pub(crate) fn joint_actions(&self, env: usize) -> &JointActions {
        self.actions(env).expect_joint()
    }
}

/// Fails if the reward of a row is not finite.
pub(crate) fn check_rewards(batch: &Batch) -> Result<(), LearnerError> {
    match batch.rewards.iter().position(|reward| !reward.is_finite()) {
        Some(row) => {
            let what = format!("the reward of environment {}", batch.env_ids[row]);
            Err(LearnerError::NonFinite { what })
        }
        None => Ok(()),
    }
}

fn names(tasks: &[Task]) -> String {
    let name = |task: &Task| format!("{:?} with {}", task.name, task.actions);
    tasks.iter().map(name).collect::<Vec<_>>().join(", ")
}
