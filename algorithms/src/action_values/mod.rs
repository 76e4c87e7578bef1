//! Parts that the learners of action values share: the interpretation of a Q-network's outputs, their losses and the
//! policy that acts on them.

mod head;
pub(crate) mod loss;
mod metrics;
mod policy;

pub(crate) use head::{Head, ReturnModel};
pub use loss::LossKind;
pub(crate) use metrics::StepMetrics;
pub use policy::Policy;
pub(crate) use policy::epsilon_greedy;
