//! The algorithms that the application trains with.
//!
//! * `registry` lists them.
//! * `algorithm` and `player` are the traits through which the application uses them.
//! * `ppo`, `dqn` and `pqn` implement these traits with the learners of the crate `algorithms`; `dqn` and `pqn` share
//!   the player in `value_player`, `ppo` and `pqn` the sizes of rollouts in `on_policy`.

mod algorithm;
mod dqn;
mod on_policy;
mod player;
mod ppo;
mod pqn;
mod registry;
mod replay_storage;
mod value_player;

pub(crate) use algorithm::{AlgorithmConfig, Learner, Trial, Workload, to_table};
pub(crate) use player::{Player, Reading};
pub(crate) use registry::Algorithm;
