//! Code that all learners share: the `Learner` trait, gradients, optimiser steps, schedules and seeds.

pub(crate) mod backward;
pub(crate) mod gradient;
pub(crate) mod halt;
mod learner;
pub(crate) mod off_policy;
pub(crate) mod off_policy_learner;
mod off_policy_state;
pub(crate) mod on_policy;
pub(crate) mod optimizer_step;
pub(crate) mod overlap;
pub(crate) mod replay_plan;
pub(crate) mod rollout_plan;
pub mod schedule;
pub(crate) mod seeds;
pub(crate) mod training;
mod unit_gradients;

pub use learner::Learner;
pub use off_policy_learner::{OffPolicyAlgorithm, OffPolicyLearner};
pub use overlap::{Overlap, Overlapped, Turn};
