use rl_env::Batch;

use crate::{EnvSpec, LearnerError};

/// What all learners have in common; [`ppo`](crate::ppo) shows the order of the verbs. How they update, what they report
/// and what their state is, each says itself.
pub trait Learner {
    /// The environments that the learner was made for.
    fn spec(&self) -> &EnvSpec;

    /// An action for each environment. `batch` is the one that `reset` or the last [`observe`](Self::observe) had.
    fn act(&mut self, batch: &Batch) -> Result<&[i32], LearnerError>;

    /// Takes what came of the actions of the last [`act`](Self::act).
    fn observe(&mut self, batch: &Batch) -> Result<(), LearnerError>;

    /// Whether an update is due; nothing more can be observed before it.
    fn is_ready(&self) -> bool;

    /// Whether nothing has been begun that the next update needs: a good moment to stop. A state is small then.
    fn is_resting(&self) -> bool;

    /// Updates made so far.
    fn updates(&self) -> u64;

    /// Whether the planned training is done.
    fn is_complete(&self) -> bool;
}
