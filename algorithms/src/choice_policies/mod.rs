//! Policies over actions that are choices, shared by the learners of such policies: distributions of the rows of a
//! minibatch as tensors, and of a single row on the host.

mod distributions;
mod joint_policy;

pub(crate) use distributions::{Distributions, Graphs};
pub(crate) use joint_policy::JointPolicy;
