//! The reasons why learners do not support a vector environment.

use thiserror::Error;

use crate::{ContinuousActions, JointActions, JointActionsError};

/// The reason why learners do not support a vector environment.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum SpecError {
    /// The vector environment is empty.
    #[error("the vector environment has no environments; learners need at least one")]
    NoEnvs,
    /// An action space is not supported.
    #[error(
        "environment {env} has the action space {space}; learners need Discrete(n) or MultiDiscrete([n, ...]) that \
         start at 0 and have 1 to {max} options in total, or a Box of 1 to {components} float32",
        max = JointActions::MAX_OPTIONS, components = ContinuousActions::MAX_COMPONENTS
    )]
    ActionSpace {
        /// Index of the environment.
        env: usize,
        /// The action space, as text.
        space: String,
    },
    /// Some tasks have choices, others continuous actions.
    #[error(
        "{joint} has {choices}, {other} has {continuous}; all tasks of a network need the same kind of actions"
    )]
    MixedActions {
        /// The name of a task with choices.
        joint: String,
        /// Its actions.
        choices: String,
        /// The name of a task with continuous actions.
        other: String,
        /// Its actions.
        continuous: String,
    },
    /// A learner of action values was given continuous actions.
    #[error(
        "{task} has the action space {space}; learners of action values need Discrete or MultiDiscrete actions. PPO and SAC \
         learn continuous ones"
    )]
    ContinuousActions {
        /// The name of the task.
        task: String,
        /// Its action space.
        space: String,
    },
    /// The learner of continuous actions was given choices.
    #[error(
        "{task} has the action space {space}; `Sac` needs a Box of bounded float32. `DiscreteSac` learns discrete actions"
    )]
    DiscreteActions {
        /// The name of the task.
        task: String,
        /// Its action space.
        space: String,
    },
    /// Actions without bounds, to which squashed actions cannot be scaled.
    #[error(
        "{task} has the action space {space}; SAC and policy.squash_actions need finite bounds. Without \
         squash_actions, PPO learns unbounded actions"
    )]
    UnboundedActions {
        /// The name of the task.
        task: String,
        /// Its action space.
        space: String,
    },
    /// Environments of one task differ in their actions. They share a head of the network, so their actions must have
    /// the same meaning.
    #[error(
        "environment {env} has {got}, but other environments of its task {task} have {expected}; they must be equal"
    )]
    UnequalActions {
        /// Index of the environment.
        env: usize,
        /// The name of its task.
        task: String,
        /// Its actions.
        got: String,
        /// The actions of the first environment of the task.
        expected: String,
    },
    /// The outputs of a task are not distinct members of the shared outputs.
    #[error(
        "the outputs {outputs:?} of the task {task} must be distinct and below {count}, the number of shared outputs"
    )]
    SharedOutputs {
        /// The name of the task.
        task: String,
        /// The indices given for its outputs.
        outputs: Vec<usize>,
        /// The number of shared outputs.
        count: usize,
    },
    /// An environment has no task, or a task has no environment.
    #[error("task_ids must contain every index of the {tasks} tasks and no other number")]
    TaskIds {
        /// The number of tasks.
        tasks: usize,
    },
    /// The actions of a task cannot be factored as requested.
    #[error("the actions of the task {task} cannot be factored: {error}")]
    Factors {
        /// The name of the task.
        task: String,
        /// The reason.
        #[source]
        error: JointActionsError,
    },
    /// The factored actions of a task do not match those of its environments.
    #[error("the task {task} has the action space {space}, which {factored} cannot replace")]
    OtherActions {
        /// The name of the task.
        task: String,
        /// The action space of its environments.
        space: String,
        /// The factored actions.
        factored: String,
    },
    /// No torso of the network supports the observation space.
    #[error(
        "no network supports observations of {0}; use byte images (channels, height, width) of at least 4 x 4 pixels, or \
         vectors of bytes or floats, or a Tuple of images and a vector of floats"
    )]
    ObservationSpace(String),
    /// SAC was given images with continuous actions.
    #[error(
        "the observations are {0}; SAC learns continuous actions from vectors only. PPO learns them from images"
    )]
    ImageObservations(String),
    /// Episodes never restart.
    #[error("the autoreset mode is Disabled; learners need NextStep or SameStep")]
    NoAutoreset,
    /// A policy was asked to act in a task that it was not trained on.
    #[error("the policy was not trained on the task {task:?} with {actions}; it was trained on {known}")]
    UnknownTask {
        /// The name of the task.
        task: String,
        /// Its actions.
        actions: String,
        /// The tasks that the policy was trained on.
        known: String,
    },
    /// A policy was given observations of a space that differs from the one it was trained on.
    #[error("the observations are {got}; the policy was trained on {expected}")]
    OtherObservations {
        /// The space of the environments.
        got: String,
        /// The space of the policy.
        expected: String,
    },
}
