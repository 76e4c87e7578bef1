//! Proximal Policy Optimization (Schulman et al. 2017, <https://arxiv.org/abs/1707.06347>) with the implementation
//! details of Huang et al. 2022, "The 37 implementation details of proximal policy optimization".
//!
//! ```
//! use algorithms::networks::PolicyConfig;
//! use algorithms::ppo::{Ppo, PpoConfig};
//! use algorithms::{Learner, VectorSpec};
//! use burn::tensor::Device;
//! use classic_control::{Probe, ProbeKind};
//! use rl_env::{ResetSeeds, VectorEnv};
//! use vector::{PoolOptions, PoolVectorEnv};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let envs = (0..4).map(|_| ("probe".to_owned(), Probe::new(ProbeKind::BestAction))).collect();
//! let mut envs = PoolVectorEnv::new(envs, PoolOptions::default())?;
//! let config = PpoConfig { total_steps: 256, num_steps: 16, ..PpoConfig::default() };
//! let (policy, spec) = (PolicyConfig::default(), VectorSpec::of(&envs)?);
//! let mut ppo = Ppo::new(config, policy, spec, &Device::flex(), 1)?;
//! let mut batch = envs.reset(ResetSeeds::From(1))?;
//! while !ppo.is_complete() {
//!     let actions = ppo.act(batch)?; // one action per environment
//!     batch = envs.step(actions)?;
//!     ppo.observe(batch)?; // rewards and next observations
//!     if ppo.is_ready() {
//!         let metrics = ppo.update()?;
//!         println!("entropy {}", metrics.entropy);
//!     }
//! }
//! assert_eq!(ppo.updates(), 4);
//! # Ok(())
//! # }
//! ```
//!
//! Three rules hold at the ends of episodes: a row that only reset its environment
//! ([`Batch::autoreset`](rl_env::Batch::autoreset)) is not a transition, and is excluded from learning; a terminated
//! step is not bootstrapped; a truncated step is bootstrapped from the value of its final observation.
//!
//! The state of a recurrent network (`lstm` of [`PolicyConfig`](crate::networks::PolicyConfig)) is reset at
//! the beginning of each episode. Minibatches then consist of whole environments, each with its state at the
//! beginning of the rollout.
//!
//! # Reading order
//!
//! 1. `learner`: the algorithm: act, observe, update; `gradient`: a step of the optimiser
//! 2. `rollout` and [`returns`](crate::experience::returns): the stored steps, and advantages from them
//! 3. `minibatch`, `row_actions` and `loss`: the tensors of a minibatch, the distributions of its actions, and the
//!    three terms of the objective. `choices` holds the distributions of actions that are several choices, `gaussian`
//!    those of continuous actions
//! 4. `training` and `optimizer`: the backward pass, clipping and Adam
//! 5. `policy`, `row_policy`, `joint_policy`, `recurrent`: acting without learning, and the state of recurrent networks
//! 6. `device_sampling`, `device_targets`: sampling and the targets of a rollout on a device
//! 7. `overlapped` and `reevaluation`: collecting the next rollout during an update, by an older policy
//! 8. `config`, `metrics`, `state`: hyperparameters, reports, checkpoints

mod choices;
mod config;
mod device_sampling;
mod device_targets;
mod gaussian;
mod gradient;
mod interface;
mod joint_policy;
mod learner;
mod loss;
mod metrics;
mod minibatch;
mod overlapped;
mod policy;
#[cfg(test)]
mod recorded;
mod recurrent;
mod reevaluation;
mod row_actions;
mod row_policy;
mod state;
#[cfg(test)]
mod tests;

pub use config::{NormAdv, PpoConfig};
pub use learner::Ppo;
pub use metrics::{PpoMetrics, TaskMetrics};
pub use policy::Policy;
pub use recurrent::RecurrentState;
