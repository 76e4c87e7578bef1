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
//! * [`sac`]: Soft Actor-Critic
//! * [`cluster`]: training by several processes
//! * [`networks`]: torsos, heads, action masks, initialisation
//! * [`returns`], [`schedule`], [`categorical`]: pure arithmetic on plain slices

mod action_values;
mod check_learner;
mod choice_policies;
pub mod cluster;
#[cfg(test)]
mod device_tests;
pub mod dqn;
mod engine;
mod error;
mod experience;
mod named_weights;
pub mod networks;
pub mod ppo;
pub mod pqn;
#[cfg(test)]
mod recording;
pub mod sac;
mod state_bytes;
mod tasks;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod transfer_tests;

pub use check_learner::{LearnerRule, LearnerViolation, check_learner};
pub use engine::{
    Learner, OffPolicyAlgorithm, OffPolicyLearner, OnPolicyAlgorithm, OnPolicyLearner, Overlap, Overlapped,
    Placement, Resumable, RolloutPlan, UpdateOutcome, schedule,
};
pub use error::{Divergence, LearnerError, ReplayError};
pub use experience::{ReplaySize, ReplayStorage, returns};
pub use kernels::host::DeviceCalls;
pub use networks::{TaskScales, ValueScale};
pub use settings::{ConfigError, FixedSetting};
pub use tasks::{
    ContinuousActions, JointActions, JointActionsError, SpecError, Task, TaskActions, VectorSpec, categorical,
};
