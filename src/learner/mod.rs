//! The algorithms that the application trains with.
//!
//! * `registry` lists them.
//! * `algorithm` and `player` are the traits through which the application uses them.
//! * `ppo`, `dqn`, `pqn` and `sac` implement these traits with the learners of the crate `algorithms`; `dqn` and `pqn` share
//!   the player in `value_player`, `ppo` and `pqn` the sizes of rollouts in `on_policy`, `dqn` and `sac` the sizes of
//!   minibatches, the reports and the replay in checkpoints in `off_policy`.

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
