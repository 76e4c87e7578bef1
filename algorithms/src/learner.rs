use rl_env::Batch;

use crate::networks::NamedWeights;
use crate::{LearnerError, VectorSpec};

/// What all learners have in common; [`ppo`](crate::ppo) shows the order of the verbs. How they update, what they report
/// and what their state is, each says itself.
pub trait Learner {
    /// The environments that the learner was made for.
    fn spec(&self) -> &VectorSpec;

    /// An action for each row of `batch`, which is the one that `reset` or the last [`observe`](Self::observe) had.
    ///
    /// Learners from rollouts take batches of some of the environments too, if their rows are in the order of the
    /// environments: groups of environments may take turns, and each goes through `act` and `observe` by itself.
    fn act(&mut self, batch: &Batch) -> Result<&[i32], LearnerError>;

    /// Takes what came of the actions of the last [`act`](Self::act) for the same environments.
    fn observe(&mut self, batch: &Batch) -> Result<(), LearnerError>;

    /// Whether the environments of a batch can be acted in: not where others have to catch up for the next update.
    fn can_act(&self, batch: &Batch) -> bool;

    /// Whether an update is due; nothing more can be observed before it.
    fn is_ready(&self) -> bool;

    /// Whether nothing has been begun that the next update needs: a good moment to stop. A state is small then.
    fn is_idle(&self) -> bool;

    /// Updates made so far.
    fn updates(&self) -> u64;

    /// Returns true once the planned training is done.
    fn is_complete(&self) -> bool;

    /// Returns the complete state as bytes, from which the learner's `from_state` continues bit for bit.
    fn state(&self) -> Result<Vec<u8>, LearnerError>;

    /// Returns all parameters of the current network, with the names and axes of PyTorch.
    fn torch_weights(&self) -> Result<Vec<NamedWeights>, LearnerError>;
}
