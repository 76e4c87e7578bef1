//! PQN, the parallelised Q-network (Gallici et al. 2024, "Simplifying deep temporal difference learning", ICLR 2025,
//! <https://arxiv.org/abs/2407.04811>): action values from many environments, without a replay buffer or a target
//! network.
//!
//! Layer normalisation takes the place of the target network in stabilising the values, and returns over
//! several steps (Q(lambda)) propagate rewards quickly. The methods are called in the same order as those of
//! [`ppo`](crate::ppo), and the same rules hold at the ends of episodes. The optimiser is Adam; the authors
//! use RAdam.

mod algorithm;
mod config;
mod learner;
mod loss;
mod metrics;
mod minibatch;
#[cfg(test)]
mod recorded;
#[cfg(test)]
mod tests;

pub use crate::action_values::Policy;
pub use config::PqnConfig;
pub use learner::{Pqn, PqnAgent};
pub use metrics::PqnMetrics;
