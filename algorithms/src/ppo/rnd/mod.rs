//! Random Network Distillation (Burda et al. 2018, <https://arxiv.org/abs/1810.12894>): intrinsic rewards for
//! observations that a network cannot predict yet.
//!
//! A predictor learns the features that a random network, the target, computes from the newest frame of an observation.
//! Its error is large for frames unlike those that it has learned from. The error of the frame after a step is the
//! step's intrinsic reward, divided by the standard deviation of discounted intrinsic returns. A second value head
//! learns intrinsic returns, which do not end with episodes. The advantages of both returns are added with weights.
//!
//! * `frames`, `normalized`, `rollout`: the frames and the intrinsic values of a rollout
//! * `rewards`, `returns`: plain arithmetic on slices
//! * `state`: what a checkpoint contains, and `encoding`, how it is written
//! * `targets`, `rows`: the targets of an update, and the tensors of a minibatch
//!
//! The networks are in `networks/exploration.rs`.

mod config;
mod encoding;
mod frames;
mod normalized;
mod returns;
mod rewards;
mod rollout;
mod rows;
mod state;
mod targets;
#[cfg(test)]
mod tests;

pub use config::RndConfig;
pub(super) use config::in_text;
pub(super) use encoding::{read, write};
pub(super) use frames::Frames;
pub(super) use rows::RndRows;
pub(super) use state::{Rnd, RndState};
pub(super) use targets::IntrinsicTargets;
