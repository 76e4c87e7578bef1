//! DQN (Mnih et al. 2015, "Human-level control through deep reinforcement learning") and, by configuration, what was
//! added to it: double and dueling networks, n-step returns, prioritised replay, distributions of returns and noisy
//! layers, all of which together are Rainbow (Hessel et al. 2018, <https://arxiv.org/abs/1710.02298>).
//!
//! ```text
//! let mut dqn = Dqn::new(config, policy, VectorSpec::of(&envs)?, &device, seed)?;
//! envs.reset(seeds)?;
//! while !dqn.is_complete() {
//!     let actions = dqn.act(batch)?;            // what to do in each environment
//!     let batch = envs.step(actions)?;
//!     dqn.observe(batch)?;                      // what came of it
//!     if dqn.is_ready() {
//!         let metrics = dqn.update()?;          // the gradient steps that are due
//!     }
//! }
//! ```
//!
//! Any number of environments feeds one replay. How much is learned does not depend on their number:
//! `train_ratio` says how many gradient steps there are for each step of an environment.

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
