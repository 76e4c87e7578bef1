//! The algorithms that the application trains with.
//!
//! * `registry` lists them.
//! * `algorithm` and `player` are the traits through which the application uses them.
//! * `off_policy` implements these traits for all algorithms with a replay; `dqn` and `sac` add their settings, metrics
//!   and players.
//! * `ppo` and `pqn` implement them with the learners of the crate `algorithms`; they share the sizes of rollouts in
//!   `on_policy`. `value_player` plays for `dqn` and `pqn`.

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

pub(crate) use algorithm::{ActionKind, AlgorithmConfig, Learner, Trial, Workload, to_table};
pub(crate) use player::{Player, Reading};
pub(crate) use registry::Algorithm;
