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
//! 1. `objective`: the whole loss, from the terms in `loss`; `choices` and `gaussian` hold the distributions of
//!    actions, `row_actions` those of a minibatch
//! 2. `targets` and [`returns`](crate::experience::returns): advantages and returns of a rollout
//! 3. `minibatch`: the tensors that the loss needs
//! 4. `algorithm`: what PPO adds to the [learner of all on-policy algorithms](crate::OnPolicyLearner), which owns the
//!    order of calls, epochs, minibatches, shards, and the state
//! 5. `policy`, `row_policy`, `recurrent`: acting without learning, and the state of recurrent networks
//! 6. `device_sampling`, `device_targets`: sampling and the targets of a rollout on a device
//! 7. `overlapped` and `reevaluation`: collecting the next rollout during an update, by an older policy
//! 8. `rnd`: intrinsic rewards
//! 9. `config`, `metrics`, `explained`: hyperparameters and reports

mod algorithm;
mod choices;
mod config;
mod device_sampling;
mod device_targets;
mod explained;
mod gaussian;
mod learner;
mod loss;
mod metrics;
mod minibatch;
mod normalization;
mod objective;
mod overlapped;
mod policy;
#[cfg(test)]
mod recorded;
mod recurrent;
mod reevaluation;
mod rnd;
mod row_actions;
mod row_policy;
mod row_targets;
mod targets;
#[cfg(test)]
mod tests;

pub use config::{NormAdv, PpoConfig};
pub use learner::{Ppo, PpoAgent};
pub use metrics::{PpoMetrics, RndMetrics, TaskMetrics};
pub use policy::Policy;
pub use recurrent::RecurrentState;
pub use rnd::RndConfig;
