use std::io;

#[cfg(feature = "atari")]
use ale::AleError;
use rl_env::{FactoryError, RegistryError, Space};
use thiserror::Error;

use crate::limits::{MAX_NUM_ENVS, MAX_NUM_THREADS};

/// An error in building a vector environment.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The list of environments is empty.
    #[error("a vector environment needs at least one environment")]
    NoEnvironments,
    /// There are too many environments of a task.
    #[error("num_envs is {num_envs}, but must be between 1 and {MAX_NUM_ENVS} for each task")]
    TooManyEnvs {
        /// The requested number of environments.
        num_envs: usize,
    },
    /// There are too many threads.
    #[error(
        "num_threads is {num_threads}, but must be between 1 and {MAX_NUM_THREADS}, or 0 for one per core"
    )]
    TooManyThreads {
        /// The requested number of threads.
        num_threads: usize,
    },
    /// The environments and their batches do not fit in memory.
    #[error(
        "the environments and their batches need at least {:.1} GB of memory, which cannot be allocated; reduce num_envs, the \
         size of the observations or stack_num", *bytes as f64 / 1e9
    )]
    Memory {
        /// The number of bytes; the largest one if it is not known.
        bytes: usize,
    },
    /// A request to [interrupt](rl_env::interrupt) the call.
    #[error("interrupted")]
    Interrupted,
    /// The batch size exceeds the number of environments.
    #[error(
        "batch_size is {batch_size}, but must be between 1 and {num_envs}, the number of environments, or 0 for all"
    )]
    BatchSize {
        /// The requested batch size.
        batch_size: usize,
        /// The number of environments.
        num_envs: usize,
    },
    /// The batch size is not a multiple of the number of players, who step together.
    #[error("batch_size is {batch_size}, but must be a multiple of {players}, the players of an environment")]
    DividedPlayers {
        /// The requested batch size.
        batch_size: usize,
        /// The number of players of each environment.
        players: usize,
    },
    /// The batch size of [`BatchOrder::InTurn`](crate::BatchOrder::InTurn) does not divide the number of environments.
    #[error(
        "batch_size is {batch_size}, but must divide {num_envs}, the number of environments, when batches take turns"
    )]
    UnevenTurns {
        /// The requested batch size.
        batch_size: usize,
        /// The number of environments.
        num_envs: usize,
    },
    /// An action space is empty.
    #[error("environment {env} ({task}) has an action space without elements: {found}")]
    NoActions {
        /// Index of the environment.
        env: usize,
        /// The name of its task.
        task: String,
        /// Its action space.
        found: Box<Space>,
    },
    /// Observation spaces differ.
    #[error(
        "environment {env} ({task}) has the observation space {found}, but environment 0 has {expected}; all must be equal"
    )]
    DifferentObservations {
        /// Index of the environment that differs.
        env: usize,
        /// The name of its task.
        task: String,
        /// Its observation space.
        found: Box<Space>,
        /// The observation space of environment 0.
        expected: Box<Space>,
    },
    /// Some environments have discrete actions and some have continuous ones.
    #[error(
        "environment {env} ({task}) has the action space {found}, but environment 0 has {expected}; discrete and \
         continuous actions cannot be mixed"
    )]
    DifferentActions {
        /// Index of the environment that differs.
        env: usize,
        /// The name of its task.
        task: String,
        /// Its action space.
        found: Box<Space>,
        /// The action space of environment 0.
        expected: Box<Space>,
    },
    /// An action space has both integers and floats.
    #[error("environment {env} ({task}) has the action space {found}, which mixes integers and floats")]
    MixedActions {
        /// Index of the environment.
        env: usize,
        /// The name of its task.
        task: String,
        /// Its action space.
        found: Box<Space>,
    },
    /// An Atari environment cannot be built.
    #[cfg(feature = "atari")]
    #[error("{game}: {source}")]
    Atari {
        /// The game's id.
        game: &'static str,
        /// The cause.
        source: AleError,
    },
    /// A factory failed.
    #[error("environment {env} ({task}) cannot be built: {source}")]
    Factory {
        /// Index of the environment.
        env: usize,
        /// The name of its task.
        task: String,
        /// The cause.
        source: FactoryError,
    },
    /// The registry cannot build the environment.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// The operating system cannot start a thread.
    #[error("cannot start the threads of the pool: {0}")]
    Threads(#[source] io::Error),
}
