//! DQN (Mnih et al. 2015, "Human-level control through deep reinforcement learning") and, by configuration, its
//! extensions: double and dueling networks, n-step returns, prioritised replay, distributional values and noisy layers.
//! All of these together are Rainbow (Hessel et al. 2018, <https://arxiv.org/abs/1710.02298>). Images can be augmented
//! as in `DrQ` (Kostrikov et al. 2020, <https://arxiv.org/abs/2004.13649>).
//!
//! ```
//! use algorithms::networks::PolicyConfig;
//! use algorithms::dqn::{Dqn, DqnConfig};
//! use algorithms::{Learner, VectorSpec};
//! use burn::tensor::Device;
//! use classic_control::{Probe, ProbeKind};
//! use rl_env::{ResetSeeds, VectorEnv};
//! use vector::{PoolOptions, PoolVectorEnv};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let envs = (0..4).map(|_| ("probe".to_owned(), Probe::new(ProbeKind::BestAction))).collect();
//! let mut envs = PoolVectorEnv::new(envs, PoolOptions::default())?;
//! let config = DqnConfig { total_steps: 256, buffer_size: 200, learning_starts: 64, ..DqnConfig::default() };
//! let (policy, spec) = (PolicyConfig::default(), VectorSpec::of(&envs)?);
//! let mut dqn = Dqn::new(config, policy, spec, &Device::flex(), 1)?;
//! let mut batch = envs.reset(ResetSeeds::From(1))?;
//! while !dqn.is_complete() {
//!     let actions = dqn.act(batch)?; // one action per environment
//!     batch = envs.step(actions)?;
//!     dqn.observe(batch)?; // rewards and next observations
//!     if dqn.is_ready() {
//!         let metrics = dqn.update()?;
//!         println!("loss {}", metrics.td_loss);
//!     }
//! }
//! assert!(dqn.updates() > 0);
//! # Ok(())
//! # }
//! ```
//!
//! Any number of environments fills one replay buffer. The amount of learning does not depend on their
//! number: `train_ratio` is the number of gradient steps per step of an environment.

mod algorithm;
mod augmentation;
mod config;
mod learner;
mod metrics;
mod minibatch;
#[cfg(test)]
mod recorded;
mod targets;
#[cfg(test)]
mod tests;

pub use crate::action_values::{LossKind, Policy};
pub use config::{Augmentation, Distribution, DqnConfig};
pub use learner::{Dqn, DqnAgent};
pub use metrics::DqnMetrics;
