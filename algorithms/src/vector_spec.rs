use std::collections::BTreeSet;

use rl_env::{AutoresetMode, Dtype, Space, VectorEnv};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// One of the tasks of a vector environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// The name of the task, such as `pong`.
    pub name: String,
    /// The number of discrete actions. The legal actions are `0..num_actions`.
    pub num_actions: usize,
    /// For each action its index among the [actions of all tasks](VectorSpec::shared_actions). The indices
    /// are distinct.
    pub shared: Vec<usize>,
}

impl Task {
    /// Creates a task whose actions are the first of those that all tasks share.
    pub fn new(name: impl Into<String>, num_actions: usize) -> Self {
        Self { name: name.into(), num_actions, shared: (0..num_actions).collect() }
    }

    /// Returns true if the actions are distinct indices below `count`.
    fn is_consistent(&self, count: usize) -> bool {
        let distinct: BTreeSet<usize> = self.shared.iter().copied().collect();
        distinct.len() == self.num_actions
            && self.shared.len() == self.num_actions
            && distinct.last().is_none_or(|&last| last < count)
    }
}

/// Everything that a learner needs to know about a vector environment before the first batch.
///
/// ```
/// use algorithms::VectorSpec;
/// use classic_control::{Probe, ProbeKind};
/// use vector::{PoolOptions, PoolVectorEnv};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let envs = ["one", "two", "one"].map(|task| (task.to_owned(), Probe::new(ProbeKind::BestAction)));
/// let envs = PoolVectorEnv::new(envs.into(), PoolOptions::default())?;
/// let spec = VectorSpec::of(&envs)?;
/// assert_eq!(spec.task_ids, [0, 1, 0]);
/// assert_eq!(spec.tasks[1].num_actions, 2);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VectorSpec {
    /// The space of one observation.
    pub observation_space: Space,
    /// The tasks, each once.
    pub tasks: Vec<Task>,
    /// For each environment its index into `tasks`.
    pub task_ids: Vec<usize>,
    /// The number of distinct actions of all tasks together: the width of a head that all tasks share.
    pub shared_actions: usize,
    /// The autoreset mode, which decides what the batch holds at the end of an episode.
    pub autoreset_mode: AutoresetMode,
}

/// The error of a vector environment that learners do not support.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum SpecError {
    /// The vector environment is empty.
    #[error("the vector environment has no environments; learners need at least one")]
    NoEnvs,
    /// An action space is not discrete.
    #[error("environment {env} has the action space {space}; learners need Discrete(n) with n of at least 1")]
    ActionSpace {
        /// Index of the environment.
        env: usize,
        /// The action space, as text.
        space: String,
    },
    /// Environments of one task differ in their number of actions. They share a head of the network, so their
    /// actions must have the same meaning.
    #[error(
        "environment {env} has {got} actions, but others of its task {task} have {expected}; these must be equal"
    )]
    UnequalActions {
        /// Index of the environment.
        env: usize,
        /// The name of its task.
        task: String,
        /// The number of its actions.
        got: usize,
        /// The number of actions of the first environment of the task.
        expected: usize,
    },
    /// The actions of a task are not distinct members of the shared actions.
    #[error(
        "the actions {actions:?} of the task {task} must be distinct and below {count}, the number of shared actions"
    )]
    SharedActions {
        /// The name of the task.
        task: String,
        /// The indices given for its actions.
        actions: Vec<usize>,
        /// The number of shared actions.
        count: usize,
    },
    /// No torso of the network supports the observation space.
    #[error(
        "no network supports observations of {0}; supported are bytes of shape (channels, height, width) from 36 x 36 \
         pixels up, and vectors of bytes or floats"
    )]
    ObservationSpace(String),
    /// Episodes never restart.
    #[error("the autoreset mode is Disabled; learners need NextStep or SameStep")]
    NoAutoreset,
    /// A policy was asked to act in a task that it was not trained on.
    #[error(
        "the policy was not trained on the task {task:?} with {num_actions} actions; it was trained on {known}"
    )]
    UnknownTask {
        /// The name of the task.
        task: String,
        /// The number of its actions.
        num_actions: usize,
        /// The tasks that the policy was trained on.
        known: String,
    },
    /// A policy was given observations of another space than it was trained on.
    #[error("the observations are {got}; the policy was trained on {expected}")]
    OtherObservations {
        /// The space of the environments.
        got: String,
        /// The space of the policy.
        expected: String,
    },
}

impl VectorSpec {
    /// Describes `envs`. Fails if learners do not support them.
    pub fn of(envs: &(impl VectorEnv + ?Sized)) -> Result<Self, SpecError> {
        if envs.num_envs() == 0 {
            return Err(SpecError::NoEnvs);
        }
        if envs.autoreset_mode() == AutoresetMode::Disabled {
            return Err(SpecError::NoAutoreset);
        }
        let tasks = tasks_of(envs)?;
        Ok(Self {
            observation_space: envs.single_observation_space().clone(),
            shared_actions: tasks.iter().map(|task| task.num_actions).max().unwrap_or(0),
            tasks,
            task_ids: envs.task_ids().to_vec(),
            autoreset_mode: envs.autoreset_mode(),
        })
    }

    /// Sets the number of shared actions, and for each task the shared actions that its own ones are. A task
    /// for which `actions` returns `None` is left unchanged.
    pub fn with_shared_actions(
        mut self,
        count: usize,
        actions: impl Fn(&Task) -> Option<Vec<usize>>,
    ) -> Result<Self, SpecError> {
        self.shared_actions = count;
        for task in &mut self.tasks {
            if let Some(shared) = actions(task) {
                task.shared = shared;
            }
            if !task.is_consistent(count) {
                return Err(SpecError::SharedActions {
                    task: task.name.clone(),
                    actions: task.shared.clone(),
                    count,
                });
            }
        }
        Ok(self)
    }

    /// Returns true if every environment has a task and every task an environment, and if a state of
    /// `state_len` bytes may hold a network for the observations. False for a damaged specification.
    pub(crate) fn is_consistent(&self, state_len: usize) -> bool {
        // A linear layer has at least one weight for each element, and a convolution with its strides and the
        // layer after it have at least a few for each block of 16 by 16 pixels.
        let (shape, most): (&[usize], _) = match &self.observation_space {
            Space::Box { shape, dtype: Dtype::U8, .. } => (shape, state_len.saturating_mul(16)),
            Space::Box { shape, .. } => (shape, state_len / size_of::<f32>()),
            _ => (&[], state_len),
        };
        let elements = shape.iter().try_fold(1_usize, |elements, &extent| elements.checked_mul(extent));
        elements.is_some_and(|elements| elements <= most)
            && self.tasks.iter().all(|task| task.is_consistent(self.shared_actions))
            && self.task_ids.iter().all(|&task| task < self.tasks.len())
            && (0..self.tasks.len()).all(|task| self.task_ids.contains(&task))
    }

    /// Fails unless `other` has the same observation space.
    pub(crate) fn check_observations(&self, other: &Self) -> Result<(), SpecError> {
        if other.observation_space == self.observation_space {
            return Ok(());
        }
        Err(SpecError::OtherObservations {
            got: other.observation_space.to_string(),
            expected: self.observation_space.to_string(),
        })
    }

    /// Returns the number of environments.
    pub fn num_envs(&self) -> usize {
        self.task_ids.len()
    }

    /// Returns the largest number of actions of any task.
    pub fn max_actions(&self) -> usize {
        self.tasks.iter().map(|task| task.num_actions).max().unwrap_or(0)
    }
}

/// Returns the tasks with their numbers of actions. Fails if the environments of a task differ.
fn tasks_of(envs: &(impl VectorEnv + ?Sized)) -> Result<Vec<Task>, SpecError> {
    let mut tasks: Vec<Task> = envs.tasks().iter().map(|name| Task::new(name, 0)).collect();
    for (env, (space, &task_id)) in envs.action_spaces().iter().zip(envs.task_ids()).enumerate() {
        let &Space::Discrete { n: got @ 1.., start: 0 } = space else {
            return Err(SpecError::ActionSpace { env, space: space.to_string() });
        };
        let task = &mut tasks[task_id];
        match task.num_actions {
            0 => *task = Task::new(&task.name, got),
            expected if expected == got => {}
            expected => {
                return Err(SpecError::UnequalActions { env, task: task.name.clone(), got, expected });
            }
        }
    }
    Ok(tasks)
}
