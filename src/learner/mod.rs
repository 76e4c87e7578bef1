//! The algorithms that the application trains with.
//!
//! * `registry` lists them.
//! * `algorithm` and `player` are the traits through which the application uses them.
//! * `on_policy` and `off_policy` implement these traits for all algorithms with a rollout and with a replay buffer.
//! * `ppo`, `pqn`, `dqn` and `sac` add a descriptor, a table of metrics and a player. `value_player` plays for `dqn`
//!   and `pqn`.

mod algorithm;
mod dqn;
mod off_policy;
mod on_policy;
mod player;
mod ppo;
mod pqn;
mod registry;
mod replay_storage;
mod sac;
#[cfg(test)]
mod tests;
mod value_player;

pub(crate) use algorithm::{AlgorithmConfig, Learner, Trial, Workload, to_table};
pub(crate) use player::{Player, Reading};
pub(crate) use registry::Algorithm;
