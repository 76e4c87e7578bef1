//! What a learner has observed: batches, rollouts, replay buffers, and the returns of their steps.

pub(crate) mod batch_reader;
pub(crate) mod device_rollout;
pub(crate) mod packed_observations;
pub(crate) mod replay;
pub mod returns;
pub(crate) mod rollout;

pub use replay::{ReplaySize, ReplayStorage};
