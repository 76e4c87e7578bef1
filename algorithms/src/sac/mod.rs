//! Soft Actor-Critic (Haarnoja et al. 2018, <https://arxiv.org/abs/1812.05905>): learns continuous actions from a
//! replay buffer, with two critics and a learned temperature.
//!
//! ```
//! use algorithms::networks::PolicyConfig;
//! use algorithms::sac::{Sac, SacConfig};
//! use algorithms::{Learner, VectorSpec};
//! use burn::tensor::Device;
//! use classic_control::{Control, Pendulum};
//! use rl_env::{ResetSeeds, TimeLimit, VectorEnv};
//! use vector::{PoolOptions, PoolVectorEnv};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let make = || TimeLimit::new(Control::new(Pendulum::default()), 200);
//! let envs = vec![("pendulum".to_owned(), make()), ("pendulum".to_owned(), make())];
//! let mut envs = PoolVectorEnv::new(envs, PoolOptions::default())?;
//! let config = SacConfig { total_steps: 80, buffer_size: 64, learning_starts: 32, ..SacConfig::default() };
//! let config = SacConfig { batch_size: 8, ..config };
//! let (policy, spec) = (PolicyConfig::default(), VectorSpec::of(&envs)?);
//! let mut sac = Sac::new(config, policy, spec, &Device::flex(), 1)?;
//! let mut batch = envs.reset(ResetSeeds::From(1))?;
//! while !sac.is_complete() {
//!     let actions = sac.act(batch)?; // one action per environment
//!     batch = envs.step(actions)?;
//!     sac.observe(batch)?; // rewards and next observations
//!     if sac.is_ready() {
//!         let metrics = sac.update()?;
//!         println!("temperature {}", metrics.alpha);
//!     }
//! }
//! assert!(sac.updates() > 0);
//! # Ok(())
//! # }
//! ```
//!
//! The policy acts in -1..=1; actions are scaled to the bounds of each task, which must be finite. Observations are
//! vectors. As in [`dqn`](crate::dqn), any number of environments fills one replay buffer, a terminated step is not
//! bootstrapped, and a truncated one is bootstrapped from its final observation.
//!
//! # Reading order
//!
//! 1. `learner`: the algorithm: act, observe, update; `gradient_steps`: the steps of an update
//! 2. `squashed`: actions and their log-densities; `temperature`: the weight of the entropy
//! 3. `minibatch`: drawn steps as tensors
//! 4. `exploration`: random actions, and noise that lasts for several steps
//! 5. `policy`: acting without learning
//! 6. `algorithm`: creation, checkpoints, transfer; `config`, `metrics`: hyperparameters, metrics

mod algorithm;
mod config;
mod exploration;
mod gradient_steps;
mod learner;
mod metrics;
mod minibatch;
mod policy;
#[cfg(test)]
mod recorded;
mod squashed;
mod temperature;
#[cfg(test)]
mod tests;

pub use config::SacConfig;
pub use learner::{Sac, SacAgent};
pub use metrics::{ActorMetrics, SacMetrics};
pub use policy::Policy;
