use thiserror::Error;

use crate::{ConfigError, Divergence, ReplayError, SpecError};

/// What can go wrong in a learner.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum LearnerError {
    /// A hyperparameter is outside its range.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The environments do not fit the learner.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// The replay cannot be made.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// A number that must be finite is not. The weights are as they were before the step that would have used it.
    #[error("{what} is not finite")]
    NonFinite {
        /// Which number.
        what: String,
    },
    /// A step of the optimiser came to something that is no number. The weights are as they were before it.
    #[error("{0}")]
    Diverged(Box<Divergence>),
    /// A batch is not of the vector environment that the learner was made for.
    #[error("a batch of {got} {what}; the learner was made for {expected}")]
    ForeignBatch {
        /// What was counted.
        what: &'static str,
        /// The number in the batch.
        got: usize,
        /// The number that was expected.
        expected: usize,
    },
    /// The rows of a batch are not in the order of their environments, each once.
    #[error("a batch must have its rows in the order of their environments, each of them once")]
    DisorderedBatch,
    /// A method was called at a moment when it has no meaning.
    #[error("{0}")]
    OutOfOrder(&'static str),
    /// Bytes are no state of this learner.
    #[error("the learner's state cannot be restored: {0}")]
    BadState(String),
    /// The device failed.
    #[error("the device failed: {0}")]
    Device(String),
}
