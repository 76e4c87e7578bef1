use crate::VectorError;

/// The state of a vector environment between two calls, for types that implement [`VectorEnv`](crate::VectorEnv).
///
/// ```
/// use rl_env::{VectorError, VectorPhase};
///
/// let phase = VectorPhase::NeedsReset;
/// assert!(phase.check_usable().is_ok());
/// let error = phase.check_ready("recv was called before the first reset").unwrap_err();
/// assert_eq!(error, VectorError::OutOfOrder("recv was called before the first reset"));
/// ```
#[derive(Debug)]
pub enum VectorPhase {
    /// Not reset yet.
    NeedsReset,
    /// An environment failed, or a call was interrupted: all environments must be reset or restored.
    Failed,
    /// A batch has been received.
    Ready,
    /// Every call repeats this error.
    Broken(VectorError),
}

impl VectorPhase {
    /// Returns the error of a vector environment that can no longer be used.
    pub fn check_usable(&self) -> Result<(), VectorError> {
        match self {
            Self::Broken(error) => Err(error.clone()),
            Self::NeedsReset | Self::Failed | Self::Ready => Ok(()),
        }
    }

    /// Checks that a batch has been received. `reason_if_not_reset` is the error before the first reset.
    pub fn check_ready(&self, reason_if_not_reset: &'static str) -> Result<(), VectorError> {
        match self {
            Self::Ready => Ok(()),
            Self::NeedsReset => Err(VectorError::OutOfOrder(reason_if_not_reset)),
            Self::Failed => {
                Err(VectorError::OutOfOrder("an environment failed: reset or restore all environments first"))
            }
            Self::Broken(error) => Err(error.clone()),
        }
    }
}
