//! Descriptions of environments for learners: observation spaces, action spaces and action distributions.

pub mod categorical;
mod chosen_action;
mod continuous_actions;
mod joint_actions;
mod spec_error;
pub(crate) mod squashing;
pub(crate) mod task;
mod task_actions;
mod vector_spec;

pub(crate) use chosen_action::ChosenAction;
pub use continuous_actions::ContinuousActions;
pub use joint_actions::{JointActions, JointActionsError};
pub use spec_error::SpecError;
pub use task::Task;
pub use task_actions::TaskActions;
pub use vector_spec::VectorSpec;
