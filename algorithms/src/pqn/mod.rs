//! PQN, the parallelised Q-network (Gallici et al. 2025, "Simplifying deep temporal difference learning",
//! <https://arxiv.org/abs/2407.04811>): action values from many environments, without replay and without target network.
//!
//! Layer normalisation keeps the values stable in their place, and returns over several steps (Q(lambda)) carry rewards
//! back quickly. The order of methods is that of [`ppo`](crate::ppo), and so are the rules about the ends of episodes.
//! The optimiser is Adam, where the authors use its rectified form.

mod config;
mod learner;
mod metrics;
mod state;
#[cfg(test)]
mod tests;

pub use crate::action_values::Policy;
pub use config::PqnConfig;
pub use learner::Pqn;
pub use metrics::PqnMetrics;
