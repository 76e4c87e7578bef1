use std::io;

#[cfg(feature = "atari")]
use ale::AleError;
use rl_env::{FactoryError, RegistryError, Space};
use thiserror::Error;

/// Why environments cannot be put together into a vector environment.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BuildError {
    /// There is nothing to step.
    #[error("a vector environment needs at least one environment, but got none")]
    NoEnvironments,
    /// A batch cannot be larger than the vector environment.
    #[error(
        "batch_size is {batch_size}, but must be between 1 and {num_envs}, the number of environments, or 0 for all"
    )]
    BatchSize {
        /// Rows that were asked for.
        batch_size: usize,
        /// Number of environments.
        num_envs: usize,
    },
    /// Groups that take turns are of one size.
    #[error(
        "batches of {batch_size} cannot take turns among {num_envs} environments: the batch size must divide their number"
    )]
    UnevenTurns {
        /// Rows that were asked for.
        batch_size: usize,
        /// Number of environments.
        num_envs: usize,
    },
    /// An environment leaves nothing to decide.
    #[error("environment {env} ({task}) has an action space without elements, {found}")]
    NoActions {
        /// Index of the environment.
        env: usize,
        /// Its task.
        task: String,
        /// Its action space.
        found: Box<Space>,
    },
    /// A batch has one shape, so all observations must have it.
    #[error(
        "environment {env} ({task}) observes {found}, but environment 0 observes {expected}; all must agree"
    )]
    DifferentObservations {
        /// Index of the environment that differs.
        env: usize,
        /// Its task.
        task: String,
        /// Its observation space.
        found: Box<Space>,
        /// The observation space of environment 0.
        expected: Box<Space>,
    },
    /// A batch's actions are either all integers or all floats.
    #[error(
        "environment {env} ({task}) takes actions in {found}, but environment 0 in {expected}; discrete and \
             continuous actions cannot be mixed"
    )]
    DifferentActions {
        /// Index of the environment that differs.
        env: usize,
        /// Its task.
        task: String,
        /// Its action space.
        found: Box<Space>,
        /// The action space of environment 0.
        expected: Box<Space>,
    },
    /// An action is either integers or floats.
    #[error("environment {env} ({task}) takes actions in {found}, which mixes integers and floats")]
    MixedActions {
        /// Index of the environment.
        env: usize,
        /// Its task.
        task: String,
        /// Its action space.
        found: Box<Space>,
    },
    /// An Atari game cannot be made into an environment.
    #[cfg(feature = "atari")]
    #[error("{game}: {source}")]
    Atari {
        /// The game's id.
        game: &'static str,
        /// Why.
        source: AleError,
    },
    /// A factory failed.
    #[error("environment {env} ({task}) cannot be built: {source}")]
    Factory {
        /// Index of the environment.
        env: usize,
        /// Its task.
        task: String,
        /// Why.
        source: FactoryError,
    },
    /// A registry has no such environment, or its factory failed.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// The operating system refused a thread.
    #[error("cannot start the threads of the pool: {0}")]
    Threads(#[source] io::Error),
}
