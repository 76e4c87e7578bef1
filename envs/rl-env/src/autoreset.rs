use serde::{Deserialize, Serialize};

/// What a vector environment does with an environment whose episode has ended.
///
/// The names and meanings are Gymnasium's (`gymnasium.vector.AutoresetMode`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum AutoresetMode {
    /// The step that ends the episode shows the final observation. The *next* step ignores its action, resets, and
    /// reports reward 0 and neither flag. Such a row is no transition and must not be learned from.
    #[default]
    NextStep,
    /// The step that ends the episode already shows the first observation of the next one; the final observation
    /// stands in [`Batch::final_observations`](crate::Batch::final_observations).
    SameStep,
    /// Nothing is reset until the caller asks for it.
    Disabled,
}
