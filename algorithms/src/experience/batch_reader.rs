use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use burn::tensor::{Device, Tensor};
use kernels::host::indices;
use kernels::{FrameStacks, PackedRows, on_cpu};
use rl_env::{AutoresetMode, Batch, ObservationBuffer};

use crate::networks::{ObservationLayout, RowTasks};
use crate::tasks::task::mask_bytes;
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

/// Observations with their action masks, row by row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Observed<'a> {
    observations: &'a ObservationBuffer,
    /// Has no rows if there are no masks.
    masks: &'a ObservationBuffer,
}

impl<'a> Observed<'a> {
    /// Returns the observations of a batch.
    pub(crate) fn of(batch: &'a Batch) -> Self {
        Self { observations: &batch.observations, masks: &batch.action_masks }
    }

    /// Returns the last observations of the episodes that ended with a batch.
    pub(crate) fn last_of(batch: &'a Batch) -> Self {
        Self { observations: &batch.final_observations, masks: &batch.final_action_masks }
    }

    /// Returns the bytes of an observation.
    pub(crate) fn observation(self, row: usize) -> &'a [u8] {
        self.observations.row(row)
    }

    /// Returns the action mask of an observation, empty if there are no masks.
    pub(crate) fn mask(self, row: usize) -> &'a [u8] {
        if self.masks.rows() > 0 { self.masks.row(row) } else { &[] }
    }
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
    /// The index into `tasks` of each environment.
    task_ids: Vec<usize>,
    autoreset_mode: AutoresetMode,
    device: Device,
    /// Present if the device is not the CPU.
    on_device: Option<OnDevice>,
}

/// Network inputs that stay on the device.
#[derive(Clone, Debug)]
struct OnDevice {
    /// One row for each task.
    tasks: RowTasks,
    /// The first groups of environments that were read. The same environments act together every time, so later reads
    /// find their group in this list.
    groups: Arc<Mutex<Vec<Group>>>,
}

/// Environments that act together.
#[derive(Debug)]
struct Group {
    envs: Vec<usize>,
    tasks: RowTasks,
    /// Their last observations.
    last: Option<FrameStacks>,
}

/// The largest number of groups of environments whose tasks and observations stay on the device.
const GROUPS: usize = 8;

impl OnDevice {
    fn new(tasks: &[Task], device: &Device) -> Self {
        let tasks = RowTasks::new(0..tasks.len(), tasks, device);
        Self { tasks, groups: Arc::default() }
    }

    /// Uploads one observation of the given layout for each element of `envs`, and returns their tasks too. `task_ids`
    /// holds the tasks of all environments.
    fn read(
        &self,
        layout: ObservationLayout,
        observations: &[&[u8]],
        envs: &[usize],
        task_ids: &[usize],
        device: &Device,
    ) -> (PackedRows, RowTasks) {
        let mut groups = self.groups.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(group) = groups.iter_mut().find(|group| group.envs == envs) {
            let packed = FrameStacks::upload(&mut group.last, layout, observations, device);
            return (packed, group.tasks.clone());
        }
        let tasks: Vec<usize> = envs.iter().map(|&env| task_ids[env]).collect();
        let task_ids = indices(tasks.iter().copied(), device);
        let tasks = self.tasks.select(tasks, task_ids);
        let mut last = None;
        let packed = if groups.len() < GROUPS {
            let packed = FrameStacks::upload(&mut last, layout, observations, device);
            groups.push(Group { envs: envs.to_vec(), tasks: tasks.clone(), last });
            packed
        } else {
            PackedRows::new(layout, observations.iter().copied(), device)
        };
        (packed, tasks)
    }
}

impl BatchReader {
    /// Creates a reader for the environments of `spec`, with tensors on `device`.
    pub(crate) fn new(spec: &VectorSpec, layout: ObservationLayout, device: Device) -> Self {
        Self {
            layout,
            tasks: spec.tasks.clone(),
            task_ids: spec.task_ids.clone(),
            autoreset_mode: spec.autoreset_mode,
            on_device: (!on_cpu(&device)).then(|| OnDevice::new(&spec.tasks, &device)),
            device,
        }
    }

    /// Returns a reader for other environments. Their tasks must be known.
    pub(crate) fn for_envs(&self, spec: &VectorSpec) -> Result<Self, SpecError> {
        let head = |task: &Task| {
            // The policy's version of the actions may be factored.
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
        let on_device =
            self.on_device.as_ref().map(|known| OnDevice { groups: Arc::default(), ..known.clone() });
        Ok(Self { task_ids, autoreset_mode: spec.autoreset_mode, on_device, ..self.clone() })
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
        self.check_masks(batch)
    }

    /// Fails unless a batch has the action masks of its environments, or none if they have none.
    fn check_masks(&self, batch: &Batch) -> Result<(), LearnerError> {
        let most = mask_bytes(&self.tasks);
        let with_final = batch.final_observations.rows();
        let expected = if most > 0 { [batch.len(), with_final] } else { [0, 0] };
        let found = [batch.action_masks.rows(), batch.final_action_masks.rows()];
        if let Some((got, expected)) = found.into_iter().zip(expected).find(|(got, expected)| got != expected)
        {
            return Err(LearnerError::ForeignBatch { what: "action masks", got, expected });
        }
        // The masks of environments with fewer options are padded, to the length that these environments need.
        let needed = batch.env_ids.iter().map(|&env| self.actions(env).num_outputs()).max().unwrap_or(0);
        let masks =
            [&batch.action_masks, &batch.final_action_masks].into_iter().filter(|masks| masks.rows() > 0);
        match masks.map(ObservationBuffer::row_bytes).find(|length| !(needed..=most).contains(length)) {
            Some(got) => {
                Err(LearnerError::ForeignBatch { what: "bytes per action mask", got, expected: needed })
            }
            None => Ok(()),
        }
    }

    /// Reads the given rows.
    pub(crate) fn read(&self, observed: Observed<'_>, rows: &[BatchRow]) -> ReadRows {
        let envs: Vec<usize> = rows.iter().map(|row| row.env).collect();
        let observations: Vec<&[u8]> = rows.iter().map(|row| observed.observation(row.row)).collect();
        let masks: Vec<&[u8]> = rows.iter().map(|row| observed.mask(row.row)).collect();
        self.read_observations(&observations, &masks, &envs)
    }

    /// Reads one observation with its action mask for each element of `envs`, in which an environment may occur several
    /// times.
    pub(crate) fn read_observations(
        &self,
        observations: &[&[u8]],
        masks: &[&[u8]],
        envs: &[usize],
    ) -> ReadRows {
        let Self { layout, device, .. } = self;
        let (observations, tasks, packed) = if let Some(on_device) = &self.on_device {
            let (packed, tasks) = on_device.read(*layout, observations, envs, &self.task_ids, device);
            (packed.unpack(*layout), tasks, Some(packed))
        } else {
            let tasks = RowTasks::new(envs.iter().map(|&env| self.task_ids[env]), &self.tasks, device);
            (layout.tensor(observations.iter().copied(), device), tasks, None)
        };
        ReadRows { observations, tasks: tasks.masked(masks.iter().copied()), packed }
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

    /// Returns the learner's tasks.
    pub(crate) fn tasks(&self) -> &[Task] {
        &self.tasks
    }

    /// Returns the task of an environment, as an index into the learner's tasks.
    pub(crate) fn task(&self, env: usize) -> usize {
        self.task_ids[env]
    }

    /// Returns the actions of an environment.
    pub(crate) fn actions(&self, env: usize) -> &TaskActions {
        &self.tasks[self.task_ids[env]].actions
    }

    /// Returns true if each action is a single choice whose options are all legal.
    pub(crate) fn has_single_choices(&self) -> bool {
        self.tasks.iter().all(|task| task.actions.is_single_choice())
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

/// Fails unless a batch has the final observations of an autoreset mode.
pub(crate) fn check_final_observations(batch: &Batch, mode: AutoresetMode) -> Result<(), LearnerError> {
    let expected = if mode == AutoresetMode::SameStep { batch.len() } else { 0 };
    match batch.final_observations.rows() {
        got if got == expected => Ok(()),
        got => Err(LearnerError::ForeignBatch { what: "final observations", got, expected }),
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
