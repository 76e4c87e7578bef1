mod divergence;
mod replay_error;

use kernels::host::DeviceError;
use thiserror::Error;

use crate::cluster::CommunicationError;
use crate::tasks::SpecError;
use crate::{ConfigError, FixedSetting};

pub use divergence::Divergence;
pub use replay_error::ReplayError;

/// An error of a learner.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum LearnerError {
    /// A hyperparameter is outside its range.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A setting that cannot change during training differs from the one that training began with.
    #[error(transparent)]
    Fixed(#[from] FixedSetting),
    /// The environments are not supported.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// The replay buffer cannot be created.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// A value is NaN or infinite. The step that would have used it was not taken, but an earlier step may have made
    /// weights infinite.
    #[error("{what} is not finite")]
    NonFinite {
        /// The value.
        what: String,
    },
    /// Training produced NaN or infinity. On the CPU the weights are those after the last step taken, and may be
    /// non-finite: to continue training, restore the learner from an earlier state.
    #[error("{0}")]
    Diverged(Box<Divergence>),
    /// A batch does not come from the vector environment that the learner was created for.
    #[error("the batch has {got} {what}; the learner was made for {expected}")]
    ForeignBatch {
        /// The name of the quantity that does not match, such as `rows`.
        what: &'static str,
        /// The number in the batch.
        got: usize,
        /// The expected number.
        expected: usize,
    },
    /// The rows of a batch are not in the order of their environments, or an environment occurs twice.
    #[error(
        "the rows of a batch must be in the order of their environments, with each environment at most once"
    )]
    DisorderedBatch,
    /// A method was called out of order.
    #[error("{0}")]
    OutOfOrder(&'static str),
    /// The bytes are not a valid state of this learner.
    #[error("the learner's state cannot be restored: {0}")]
    BadState(String),
    /// The state could not be written.
    #[error("the learner's state cannot be written: {0}")]
    StateNotWritten(String),
    /// Another process cannot be reached.
    #[error(transparent)]
    Communication(#[from] CommunicationError),
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// Fails with `problem` unless `holds`, a condition on the order of calls.
pub(crate) fn ensure_in_order(holds: bool, problem: &'static str) -> Result<(), LearnerError> {
    if holds { Ok(()) } else { Err(LearnerError::OutOfOrder(problem)) }
}
