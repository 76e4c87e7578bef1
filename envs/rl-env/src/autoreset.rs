use serde::{Deserialize, Serialize};

/// The time at which a vector environment resets an environment whose episode has ended.
///
/// Names and meanings are those of `gymnasium.vector.AutoresetMode`.
///
/// ```
/// use rl_env::AutoresetMode;
///
/// assert_eq!(AutoresetMode::default(), AutoresetMode::NextStep);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum AutoresetMode {
    /// The step that ends the episode returns the final observation. The *next* step ignores its action, resets, and
    /// reports reward 0 and neither flag. Such a row is not a transition and must be excluded from training.
    #[default]
    NextStep,
    /// The step that ends the episode returns the first observation of the next episode; the final observation is in
    /// [`Batch::final_observations`](crate::Batch::final_observations).
    SameStep,
    /// The caller resets environments explicitly.
    Disabled,
}
