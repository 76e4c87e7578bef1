//! DQN (Mnih et al. 2015, "Human-level control through deep reinforcement learning") and, by configuration,
//! its extensions: double and dueling networks, n-step returns, prioritised replay, distributional values and
//! noisy layers. All of them together are Rainbow (Hessel et al. 2018, <https://arxiv.org/abs/1710.02298>).
//!
//! ```text
//! let mut dqn = Dqn::new(config, policy, VectorSpec::of(&envs)?, &device, seed)?;
//! envs.reset(seeds)?;
//! while !dqn.is_complete() {
//!     let actions = dqn.act(batch)?;            // one action per environment
//!     let batch = envs.step(actions)?;
//!     dqn.observe(batch)?;                      // rewards and next observations
//!     if dqn.is_ready() {
//!         let metrics = dqn.update()?;          // make the gradient steps that are due
//!     }
//! }
//! ```
//!
//! Any number of environments fills one replay buffer. The amount of learning does not depend on their
//! number: `train_ratio` is the number of gradient steps per step of an environment.

mod config;
mod learner;
mod metrics;
mod minibatch;
mod state;
#[cfg(test)]
mod tests;

pub use crate::action_values::{LossKind, Policy};
pub use config::{Distribution, DqnConfig};
pub use learner::Dqn;
pub use metrics::DqnMetrics;
