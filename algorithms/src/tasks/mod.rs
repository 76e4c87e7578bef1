//! What environments offer to a learner: the spaces of observations and actions, and the arithmetic of choosing an action.

pub mod categorical;
mod continuous_actions;
mod joint_actions;
pub(crate) mod squashing;
mod task_actions;
pub(crate) mod vector_spec;

pub use continuous_actions::ContinuousActions;
pub use joint_actions::{JointActions, JointActionsError};
pub use task_actions::TaskActions;
pub use vector_spec::{SpecError, Task, VectorSpec};
