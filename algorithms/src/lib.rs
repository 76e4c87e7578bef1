//! Reinforcement learning algorithms in burn.
//!
//! A [`Learner`] *acts* on a batch of observations, *observes* the result, and *updates* its network once it has enough
//! data. An update returns metrics. Learners know only [`rl_env::VectorEnv`] and [`rl_env::Batch`].
//!
//! This crate does not depend on games, emulators, environment threads, files, logs or clocks. It returns metrics,
//! encodes states as bytes, and leaves it to the caller to decide when to stop. The same seed, configuration and
//! batches give bit-identical weights on any number of threads.
//!
//! * [`ppo`]: Proximal Policy Optimization
//! * [`dqn`]: DQN and its extensions up to Rainbow
//! * [`pqn`]: the parallelised Q-network, without replay
//! * [`sac`]: Soft Actor-Critic, for continuous actions
//! * [`cluster`]: training by several processes
//! * [`networks`]: torsos, heads, action masks, initialisation
//! * [`returns`], [`schedule`], [`categorical`]: pure arithmetic on plain slices

mod action_values;
mod backward;
mod batch_reader;
pub mod categorical;
pub mod cluster;
mod continuous_actions;
mod device_rollout;
#[cfg(test)]
mod device_tests;
mod divergence;
pub mod dqn;
mod error;
mod gradient;
mod halt;
mod host;
mod joint_actions;
mod launches;
mod learner;
pub mod networks;
mod observation_statistics;
mod off_policy;
mod on_policy;
mod optimizer;
mod optimizer_step;
mod overlap;
mod packed_observations;
pub mod ppo;
pub mod pqn;
#[cfg(test)]
mod recording;
mod replay;
mod replay_plan;
pub mod returns;
mod rollout;
mod rollout_plan;
pub mod sac;
pub mod schedule;
mod seeds;
mod squashing;
mod state_bytes;
mod sum_of_squares;
mod task_actions;
#[cfg(test)]
mod testing;
mod training;
#[cfg(test)]
mod transfer_tests;
mod unit_gradients;
mod value_scale;
mod vector_spec;

pub use continuous_actions::ContinuousActions;
pub use divergence::Divergence;
pub use error::LearnerError;
pub use host::DeviceCalls;
pub use joint_actions::{JointActions, JointActionsError};
pub use learner::Learner;
pub use overlap::{Overlap, Overlapped, Turn};
pub use replay::{ReplayError, ReplaySize, ReplayStorage};
pub use settings::{ConfigError, FixedSetting};
pub use task_actions::TaskActions;
pub use value_scale::{TaskScales, ValueScale};
pub use vector_spec::{SpecError, Task, VectorSpec};
