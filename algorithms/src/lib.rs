//! Reinforcement learning algorithms in burn.
//!
//! A learner is a value with three verbs: it *acts* on a batch of observations, it *observes* what came of it, and it
//! *updates* its network when it has seen enough, which yields metrics. All it knows of the world is
//! [`rl_env::VectorEnv`] and [`rl_env::Batch`].
//!
//! This crate knows no game, no emulator, no thread of an environment, no file, no log and no clock. Metrics are
//! returned, state is bytes, and whoever calls decides when to stop. The same seed, configuration and batches give
//! the same weights, bit for bit, whatever the number of threads.
//!
//! * [`ppo`]: Proximal Policy Optimization
//! * [`dqn`]: DQN and what was added to it, up to Rainbow
//! * [`pqn`]: the parallelised Q-network, without replay
//! * [`networks`]: torsos, heads, action masks, initialisation
//! * [`returns`], [`schedule`], [`categorical`]: the pure arithmetic, on plain slices

mod action_values;
mod batch_reader;
pub mod categorical;
mod config_error;
mod device_rollout;
#[cfg(test)]
mod device_tests;
mod divergence;
pub mod dqn;
mod error;
mod host;
mod learner;
pub mod networks;
mod on_policy;
mod optimizer;
mod optimizer_step;
pub mod ppo;
pub mod pqn;
mod replay;
pub mod returns;
mod rollout;
mod rollout_plan;
pub mod schedule;
mod seeds;
mod state_bytes;
#[cfg(test)]
mod testing;
mod training;
mod value_scale;
mod vector_spec;

pub use config_error::ConfigError;
pub use divergence::Divergence;
pub use error::LearnerError;
pub use learner::Learner;
pub use replay::{ReplayError, ReplaySize, ReplayStorage};
pub use value_scale::ValueScale;
pub use vector_spec::{SpecError, Task, VectorSpec};
