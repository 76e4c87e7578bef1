//! Proximal Policy Optimization (Schulman et al. 2017, <https://arxiv.org/abs/1707.06347>) with the implementation
//! details of Huang et al. 2022, "The 37 implementation details of proximal policy optimization".
//!
//! ```text
//! let mut ppo = Ppo::new(config, policy, VectorSpec::of(&envs)?, &device, seed)?;
//! envs.reset(seeds)?;
//! while ppo.updates() < ppo.num_updates() {
//!     let actions = ppo.act(batch)?;            // what to do in each environment
//!     let batch = envs.step(actions)?;
//!     ppo.observe(batch)?;                      // what came of it
//!     if ppo.is_ready() {
//!         let metrics = ppo.update()?;          // learn from the last num_steps steps
//!     }
//! }
//! ```
//!
//! Three rules about the ends of episodes: a row that only reset its environment
//! ([`Batch::autoreset`](rl_env::Batch::autoreset)) is no transition and never trains; a terminated step is not
//! bootstrapped; a truncated step is bootstrapped from the value of its final observation.
//!
//! A recurrent network (`lstm` of [`PolicyConfig`](crate::networks::PolicyConfig)) forgets at the beginning of each episode.
//! Minibatches are of whole environments then, each with what was remembered at the beginning of the rollout.

mod config;
mod learner;
mod loss;
mod metrics;
mod minibatch;
mod policy;
mod recurrent;
mod state;
#[cfg(test)]
mod tests;

pub use config::{NormAdv, PpoConfig};
pub use learner::Ppo;
pub use metrics::PpoMetrics;
pub use policy::Policy;
pub use recurrent::RecurrentState;
