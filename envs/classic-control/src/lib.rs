//! Small environments: the classic control tasks, and the probe environments that tests use.
//!
//! Everything here is arithmetic on a few numbers. This crate knows no picture, no thread and no learner.

mod cart_pole;
mod encoding;
mod probe;

pub use cart_pole::CartPole;
pub use probe::{Probe, ProbeKind};
