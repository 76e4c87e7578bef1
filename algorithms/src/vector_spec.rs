use std::collections::BTreeSet;

use rl_env::{AutoresetMode, Space, VectorEnv};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// One of the tasks that a vector environment plays.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// The task's name, such as `pong`.
    pub name: String,
    /// Number of discrete actions; legal are `0..num_actions`.
    pub num_actions: usize,
    /// What each of them is among the [actions of all tasks](VectorSpec::shared_actions), each once.
    pub shared: Vec<usize>,
}

impl Task {
    /// A task whose actions are the first of those that all tasks share.
    pub fn new(name: impl Into<String>, num_actions: usize) -> Self {
        Self { name: name.into(), num_actions, shared: (0..num_actions).collect() }
    }

    /// Whether each action is another one of `count`.
    fn is_consistent(&self, count: usize) -> bool {
        let distinct: BTreeSet<usize> = self.shared.iter().copied().collect();
        distinct.len() == self.num_actions
            && self.shared.len() == self.num_actions
            && distinct.last().is_none_or(|&last| last < count)
    }
}

/// All that a learner has to know about a vector environment before the first batch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VectorSpec {
    /// The space of one observation.
    pub observation_space: Space,
    /// The tasks, each once.
    pub tasks: Vec<Task>,
    /// For each environment its index into `tasks`.
    pub task_ids: Vec<usize>,
    /// The number of different actions, all tasks together: what a head has that all of them share.
    pub shared_actions: usize,
    /// What happens at the end of an episode.
    pub autoreset_mode: AutoresetMode,
}

/// A vector environment that the learners cannot work with.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum SpecError {
    /// No environments.
    #[error("the vector environment has no environments; learners need at least one")]
    NoEnvs,
    /// An action space is not discrete.
    #[error("environment {env} has the action space {space}; learners need Discrete(n) with n of at least 1")]
    ActionSpace {
        /// Index of the environment.
        env: usize,
        /// Its action space, in words.
        space: String,
    },
    /// Environments of one task share a head of the network, so their actions must mean the same.
    #[error(
        "environment {env} has {got} actions, others of its task {task} have {expected}; they must have equally many"
    )]
    UnequalActions {
        /// Index of the environment.
        env: usize,
        /// Name of its task.
        task: String,
        /// Its number of actions.
        got: usize,
        /// The number of actions of the task's first environment.
        expected: usize,
    },
    /// Actions of a task are not different ones of those that all tasks share.
    #[error(
        "the actions {actions:?} of the task {task} are not, each once, among {count} that all tasks share"
    )]
    SharedActions {
        /// Name of the task.
        task: String,
        /// What its actions were said to be.
        actions: Vec<usize>,
        /// How many there are.
        count: usize,
    },
    /// No torso of the network fits the observation space.
    #[error(
        "no network for observations of {0}; there are networks for bytes of shape (channels, height, width) from 36 x 36 \
         on, and for vectors of bytes or floats"
    )]
    ObservationSpace(String),
    /// Episodes never restart.
    #[error("autoreset mode Disabled; learners need NextStep or SameStep")]
    NoAutoreset,
    /// A policy is asked to play what it has not been trained on.
    #[error("the policy knows no task {task:?} with {num_actions} actions; it knows {known}")]
    UnknownTask {
        /// Name of the task.
        task: String,
        /// Its number of actions.
        num_actions: usize,
        /// The tasks that it was trained on.
        known: String,
    },
    /// A policy is shown observations of another space than it was trained on.
    #[error("observations of {got}; the policy was trained on {expected}")]
    OtherObservations {
        /// The space of the environments.
        got: String,
        /// The space of the policy.
        expected: String,
    },
}

impl VectorSpec {
    /// What a learner has to know about `envs`, or why it cannot work with them.
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

    /// The same with what the actions of tasks are among `count` that all of them share; a task for which `actions` has
    /// nothing keeps what it had.
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

    /// Whether every environment has a task and every task an environment: false for a damaged specification.
    pub(crate) fn is_consistent(&self) -> bool {
        self.tasks.iter().all(|task| task.is_consistent(self.shared_actions))
            && self.task_ids.iter().all(|&task| task < self.tasks.len())
            && (0..self.tasks.len()).all(|task| self.task_ids.contains(&task))
    }

    /// Fails unless the observations of `other` are those of this specification.
    pub(crate) fn check_observations(&self, other: &Self) -> Result<(), SpecError> {
        if other.observation_space == self.observation_space {
            return Ok(());
        }
        Err(SpecError::OtherObservations {
            got: other.observation_space.to_string(),
            expected: self.observation_space.to_string(),
        })
    }

    /// Number of environments.
    pub fn num_envs(&self) -> usize {
        self.task_ids.len()
    }

    /// The largest action count of any task.
    pub fn max_actions(&self) -> usize {
        self.tasks.iter().map(|task| task.num_actions).max().unwrap_or(0)
    }
}

/// The tasks with their action counts, once all environments agree on them.
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
