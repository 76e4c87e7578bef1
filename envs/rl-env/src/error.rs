use thiserror::Error;

/// An error of a single environment.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum EnvError {
    /// The action is not in the environment's action space.
    #[error("action {action} is not in the action space {space}")]
    InvalidAction {
        /// The action as it was given.
        action: String,
        /// The action space, as its `Display` writes it.
        space: String,
    },
    /// The snapshot is damaged or belongs to a different environment.
    #[error("cannot restore the snapshot: {0}")]
    BadSnapshot(String),
    /// The environment failed for any other reason.
    #[error("{0}")]
    Failed(String),
}
