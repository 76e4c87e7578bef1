//! Storage for observed steps (rollouts and replay buffers), and the computation of returns.

pub(crate) mod batch_reader;
pub(crate) mod device_rollout;
pub(crate) mod packed_observations;
pub(crate) mod replay;
pub mod returns;
pub(crate) mod rollout;

pub use replay::{ReplaySize, ReplayStorage};
