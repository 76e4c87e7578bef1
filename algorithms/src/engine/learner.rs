use std::fmt::Debug;
use std::io::Write;

use burn::tensor::Device;
use rl_env::{Actions, Batch};

use crate::networks::{NamedWeights, NetworkDescription, TrainedNetwork, TransferError, Transferred};
use crate::{LearnerError, VectorSpec};

/// The interface that all learners share; [`ppo`](crate::ppo) shows the order of its methods.
///
/// Every learner except [`Overlapped`](crate::Overlapped) is also [`Resumable`], and has `new`, `config`, `update` and
/// `policy` with the same parameters. Their types depend on the algorithm, so they are not part of this trait.
pub trait Learner {
    /// Returns the description of the environments that the learner was created for.
    fn spec(&self) -> &VectorSpec;

    /// Returns an action for each row of `batch`, which must be the batch that `reset` returned or that was passed to
    /// the last [`observe`](Self::observe).
    ///
    /// On-policy learners also accept batches of some of the environments, with rows in the order of the environments.
    /// Groups of environments may take turns, each with its own `act` and `observe`.
    fn act(&mut self, batch: &Batch) -> Result<Actions<'_>, LearnerError>;

    /// Stores the result of the actions of the last [`act`](Self::act) for the same environments.
    fn observe(&mut self, batch: &Batch) -> Result<(), LearnerError>;

    /// Returns true if the environments of a batch can act, and false if other environments have to catch up before the
    /// next update.
    fn can_act(&self, batch: &Batch) -> bool;

    /// Returns true if an update is due. Nothing more can be observed before it.
    fn is_ready(&self) -> bool;

    /// Returns true if no rollout is in progress: a good moment to stop, because the state is small.
    fn is_idle(&self) -> bool;

    /// Returns the number of updates made so far.
    fn updates(&self) -> u64;

    /// Returns true once the planned training is done.
    fn is_complete(&self) -> bool;

    /// Writes the complete state, from which the learner's `from_state` continues bit for bit. Makes many small writes.
    /// In a cluster, every process must call this at the same point of training, and all get the same bytes.
    fn write_state(&self, out: &mut dyn Write) -> Result<(), LearnerError>;

    /// Returns the bytes that [`write_state`](Self::write_state) writes.
    fn state(&self) -> Result<Vec<u8>, LearnerError> {
        let mut bytes = Vec::new();
        self.write_state(&mut bytes)?;
        Ok(bytes)
    }

    /// Returns all parameters of the current network, with the names and axis order of PyTorch.
    fn torch_weights(&self) -> Result<Vec<NamedWeights>, LearnerError>;

    /// Returns the description of the weights, which another learner needs to [start from](Self::start_from) them.
    fn description(&self) -> NetworkDescription;

    /// Replaces the weights of a new learner with those of a trained network. This concerns all layers that tasks
    /// share, and the heads and value scales of the tasks that both have in common. Heads of other tasks keep their
    /// weights, as do all heads if another algorithm trained the network. The optimiser and schedules do not change. On
    /// an error nothing changes.
    fn start_from(&mut self, source: &TrainedNetwork) -> Result<Transferred, TransferError>;
}

/// A learner that can be restored from its state, and whose updates can be stopped.
pub trait Resumable: Learner + Sized {
    /// The metrics of an update.
    type Metrics: Debug + PartialEq;

    /// Restores the learner that [`state`](Learner::state) described.
    fn from_state(bytes: &[u8], device: &Device) -> Result<Self, LearnerError>;

    /// Updates the network. If `stop` returns true before the end, the update is undone and the result is `None`. The
    /// learner is then bit for bit as before the call, and the update is still due.
    fn update_unless(&mut self, stop: &dyn Fn() -> bool) -> Result<Option<Self::Metrics>, LearnerError>;
}
