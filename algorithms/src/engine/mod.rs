//! Code that all learners share: the `Learner` trait, gradients, optimiser steps, schedules and seeds.

pub(crate) mod backward;
pub(crate) mod gradient;
pub(crate) mod halt;
mod learner;
pub(crate) mod loss;
pub(crate) mod minibatch_rows;
pub(crate) mod off_policy;
pub(crate) mod off_policy_learner;
mod off_policy_state;
pub(crate) mod on_policy;
pub(crate) mod on_policy_learner;
mod on_policy_state;
mod on_policy_update;
pub(crate) mod optimizer_step;
pub(crate) mod overlap;
mod placement;
pub(crate) mod replay_plan;
pub(crate) mod rollout_plan;
pub mod schedule;
pub(crate) mod seeds;
pub(crate) mod training;
mod unit_gradients;

pub use learner::{Learner, Resumable};
pub use off_policy_learner::{OffPolicyAlgorithm, OffPolicyLearner};
pub use on_policy_learner::{OnPolicyAlgorithm, OnPolicyLearner};
pub use overlap::{Overlap, Overlapped, UpdateOutcome};
pub use placement::Placement;
pub use rollout_plan::RolloutPlan;
