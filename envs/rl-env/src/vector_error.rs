use thiserror::Error;

use crate::EnvError;

/// An error of a vector environment.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum VectorError {
    /// One of the environments reported an error.
    #[error("environment {env}: {error}")]
    Env {
        /// Index of the environment.
        env: usize,
        /// Its error.
        error: EnvError,
    },
    /// The code of an environment panicked. The vector environment can no longer be used.
    #[error("environment {env} panicked: {message}")]
    Panicked {
        /// Index of the environment.
        env: usize,
        /// The panic's message.
        message: String,
    },
    /// The number of actions, seeds or mask entries differs from the number of rows.
    #[error("{what}: got {got}, expected {expected}")]
    WrongLength {
        /// The items that were counted.
        what: &'static str,
        /// The number that was given.
        got: usize,
        /// The number that was expected.
        expected: usize,
    },
    /// There is no environment with this index.
    #[error("there is no environment {env}; valid indices are 0 to {}", num_envs.saturating_sub(1))]
    UnknownEnv {
        /// The index that was given.
        env: usize,
        /// Number of environments.
        num_envs: usize,
    },
    /// An index was given twice.
    #[error("environment {env} is listed twice")]
    Duplicate {
        /// Index of the environment.
        env: usize,
    },
    /// The action of a player is missing. All players of an environment act together.
    #[error("environment {env}: the action of player {player} is missing, but all players act together")]
    MissingPlayer {
        /// Index of the environment that the players share.
        env: usize,
        /// The player, counted from 0.
        player: usize,
    },
    /// The environment is still busy with the previous call.
    #[error("environment {env} is in flight: receive its result before using it again")]
    InFlight {
        /// Index of the environment.
        env: usize,
    },
    /// `recv` would block forever, because too few environments have been sent to.
    #[error(
        "the next batch needs {batch_size} environments in flight, but only {in_flight} are: send to more first"
    )]
    TooFewInFlight {
        /// Number of environments of the next batch whose results have not been received.
        in_flight: usize,
        /// Rows of a batch.
        batch_size: usize,
    },
    /// The environment cannot be stepped after the end of its episode, since autoreset is disabled.
    #[error(
        "the episode of environment {env} is over and autoreset is disabled: reset it before the next step"
    )]
    EpisodeOver {
        /// Index of the environment.
        env: usize,
    },
    /// A request to [interrupt](crate::interrupt) the call. Environments that were being reset or stepped are in an
    /// arbitrary state.
    #[error("interrupted")]
    Interrupted,
    /// The method cannot be called in the current state.
    #[error("{0}")]
    OutOfOrder(&'static str),
    /// The snapshot is damaged or belongs to a different vector environment.
    #[error("cannot restore the snapshot: {0}")]
    BadSnapshot(String),
}

impl VectorError {
    /// Checks the number of actions, seeds or mask entries; `what` names them in the error.
    pub fn check_len(what: &'static str, got: usize, expected: usize) -> Result<(), Self> {
        if got == expected { Ok(()) } else { Err(Self::WrongLength { what, got, expected }) }
    }
}
