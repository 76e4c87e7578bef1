//! Updates that stop before they are complete.

use crate::LearnerError;

/// The reason why an update ended early.
pub enum Halt {
    /// The caller asked for it.
    Stopped,
    Failed(LearnerError),
}

impl Halt {
    /// Applies `map` to the error of a failure.
    pub(crate) fn map_error(self, map: impl FnOnce(LearnerError) -> LearnerError) -> Self {
        match self {
            Self::Stopped => Self::Stopped,
            Self::Failed(error) => Self::Failed(map(error)),
        }
    }
}

impl From<LearnerError> for Halt {
    fn from(error: LearnerError) -> Self {
        Self::Failed(error)
    }
}

/// Halts the update if `stop` returns true.
pub(crate) fn halt_if(stop: &dyn Fn() -> bool) -> Result<(), Halt> {
    if stop() { Err(Halt::Stopped) } else { Ok(()) }
}

/// Runs an update to its end, without stopping it.
pub(crate) fn complete<M>(
    update: impl FnOnce(&dyn Fn() -> bool) -> Result<Option<M>, LearnerError>,
) -> Result<M, LearnerError> {
    Ok(update(&|| false)?.expect("nothing stops the update"))
}
