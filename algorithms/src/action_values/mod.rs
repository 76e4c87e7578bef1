//! Code shared by the learners of action values: the interpretation of a Q-network's outputs, their losses, and the
//! policy that acts on them.

mod branches;
mod head;
pub(crate) mod loss;
mod metrics;
mod policy;

pub(crate) use branches::Branches;
pub(crate) use head::{Head, ReturnModel};
pub use loss::LossKind;
pub(crate) use metrics::StepMetrics;
pub use policy::Policy;
pub(crate) use policy::{best_value, epsilon_greedy, greedy, mask_values, skip_epsilon_greedy};
