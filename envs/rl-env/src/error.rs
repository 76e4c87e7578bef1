use thiserror::Error;

/// What can go wrong while resetting or stepping environments.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum EnvError {
    /// An action is not in the environment's action space.
    #[error("environment {env}: action {action} is not in its action space, {space}")]
    InvalidAction {
        /// Index of the environment.
        env: usize,
        /// The action as it was given.
        action: String,
        /// The action space, in words.
        space: String,
    },
    /// The number of actions, seeds or mask entries differs from the number of rows.
    #[error("{what}: got {got}, expected {expected}")]
    WrongLength {
        /// What was counted.
        what: &'static str,
        /// The number that was given.
        got: usize,
        /// The number that was expected.
        expected: usize,
    },
    /// No environment has this index.
    #[error("there is no environment {env}; there are {num_envs}, counted from 0")]
    UnknownEnv {
        /// The index that was given.
        env: usize,
        /// Number of environments.
        num_envs: usize,
    },
    /// An environment was to do something while it is still busy with what was sent before.
    #[error("environment {env} is under way: receive its result before it is used again")]
    UnderWay {
        /// Index of the environment.
        env: usize,
    },
    /// `recv` would wait for ever, because too few environments have anything to do.
    #[error(
        "recv gives batches of {batch_size}, but only {under_way} environments are under way: send to more first"
    )]
    TooFewUnderWay {
        /// Environments whose results have not been received.
        under_way: usize,
        /// Rows of a batch.
        batch_size: usize,
    },
    /// `send`, `recv` or `step` came at a moment when it has no meaning.
    #[error("{0}")]
    OutOfOrder(&'static str),
    /// The code of an environment panicked. The environment cannot be used any more.
    #[error("environment {env} panicked: {message}")]
    Panicked {
        /// Index of the environment.
        env: usize,
        /// The panic's message.
        message: String,
    },
    /// An environment cannot be built, or a vector environment not be assembled from its parts.
    #[error("{0}")]
    Construction(String),
    /// A snapshot does not belong to this environment or is damaged.
    #[error("snapshot cannot be restored: {0}")]
    BadSnapshot(String),
}
