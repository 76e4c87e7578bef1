//! Soft Actor-Critic (Haarnoja et al. 2018, <https://arxiv.org/abs/1812.05905>): learns from a replay buffer, with two
//! critics and a learned temperature.
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
//! As in [`dqn`](crate::dqn), any number of environments fills one replay buffer, a terminated step is not
//! bootstrapped, and a truncated one is bootstrapped from its final observation.
//!
//! [`Sac`] learns continuous actions from vectors. The policy acts in -1..=1; actions are scaled to the bounds of each
//! task, which must be finite. [`DiscreteSac`] learns choices (Christodoulou 2019,
//! <https://arxiv.org/abs/1910.07207>) from vectors or images. They differ in their [`Kind`].
//!
//! # Reading order
//!
//! 1. `learner`: the algorithm: act, observe, update; `gradient_steps`: the steps of an update
//! 2. `kind`: the parts that depend on the kind of actions, which are in `continuous` and `discrete`
//! 3. `temperature`: the weight of the entropy; `minibatch`: drawn steps as tensors
//! 4. `policy`: acting without learning
//! 5. `algorithm`: creation, checkpoints, transfer; `config`, `metrics`: hyperparameters, metrics

mod algorithm;
mod config;
mod continuous;
mod discrete;
mod gradient_steps;
mod kind;
mod learner;
mod metrics;
mod minibatch;
mod policy;
#[cfg(test)]
mod recorded;
mod temperature;
#[cfg(test)]
mod tests;

pub use config::SacConfig;
pub use continuous::Continuous;
pub use discrete::Discrete;
pub use kind::Kind;
pub use learner::SacAgent;
pub use metrics::{ActorMetrics, SacMetrics};
pub use policy::Policy;

use crate::engine::OffPolicyLearner;

/// A learner of continuous actions that uses Soft Actor-Critic. [`sac`](crate::sac) shows the order of its methods. Its
/// updates are the gradient steps of the critics.
pub type Sac = OffPolicyLearner<SacAgent<Continuous>>;

/// A learner of discrete actions that uses Soft Actor-Critic. It has the methods of [`Sac`].
pub type DiscreteSac = OffPolicyLearner<SacAgent<Discrete>>;
