use std::fmt;

use rand::Rng;
use rl_env::Space;
use serde::{Deserialize, Serialize};

use crate::{ContinuousActions, JointActions};

/// The actions of a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum TaskActions {
    /// Choices, each among a few options.
    Joint(JointActions),
    /// Vectors of real numbers.
    Continuous(ContinuousActions),
    /// Choices of which some options are not allowed in some states: each observation has a
    /// [mask](rl_env::Batch::action_masks).
    Masked(JointActions),
}

impl TaskActions {
    /// Creates the actions of an action space, if learners support it: `Discrete` and `MultiDiscrete` that start at
    /// 0, or `Box` of 32-bit floats.
    pub fn of_space(space: &Space) -> Option<Self> {
        let joint = JointActions::of_space(space).map(Self::Joint);
        joint.or_else(|| ContinuousActions::of_space(space).map(Self::Continuous))
    }

    /// Returns the action space of the environments.
    pub fn space(&self) -> Space {
        match self {
            Self::Joint(actions) | Self::Masked(actions) => actions.space(),
            Self::Continuous(actions) => actions.space().clone(),
        }
    }

    /// Returns the choices, if an action consists of them.
    pub fn joint(&self) -> Option<&JointActions> {
        match self {
            Self::Joint(actions) | Self::Masked(actions) => Some(actions),
            Self::Continuous(_) => None,
        }
    }

    /// Returns these actions with a mask for each observation, if they are choices.
    #[must_use]
    pub fn masked(self) -> Self {
        match self {
            Self::Joint(actions) => Self::Masked(actions),
            actions => actions,
        }
    }

    /// Returns true if each observation has a mask.
    pub fn are_masked(&self) -> bool {
        matches!(self, Self::Masked(_))
    }

    /// Returns the number of output columns of a network: the options of all choices side by side, or one for each
    /// component.
    pub fn num_outputs(&self) -> usize {
        match self {
            Self::Joint(actions) | Self::Masked(actions) => actions.num_outputs(),
            Self::Continuous(actions) => actions.num_components(),
        }
    }

    /// Draws a legal action of choices uniformly at random, with one random number for each choice. If there are masks,
    /// it is drawn among the actions whose options are allowed. `is_allowed` is called with output columns.
    pub(crate) fn random(&self, is_allowed: impl Fn(usize) -> bool, rng: &mut impl Rng) -> Vec<i32> {
        match self {
            Self::Masked(actions) => actions.random_among(is_allowed, rng),
            actions => actions.expect_joint().random(rng),
        }
    }

    /// Returns the number of choices, 0 for continuous actions.
    pub fn num_choices(&self) -> usize {
        self.joint().map_or(0, JointActions::num_choices)
    }

    /// Returns true if an action is a single choice whose options are all legal.
    pub(crate) fn is_single_choice(&self) -> bool {
        self.joint().is_some_and(JointActions::is_single_choice)
    }

    /// Returns the number of components of a continuous action, 0 for choices.
    pub fn num_components(&self) -> usize {
        match self {
            Self::Joint(_) | Self::Masked(_) => 0,
            Self::Continuous(actions) => actions.num_components(),
        }
    }

    /// Returns the inverse of the entropy of a uniform policy; 0 for a single action, whose entropy is 0, and 1 for
    /// continuous actions, which have no uniform policy.
    pub(crate) fn inverse_entropy(&self) -> f32 {
        let Some(actions) = self.joint() else { return 1.0 };
        let entropy = actions.ln_count() as f32;
        if entropy > 0.0 { entropy.recip() } else { 0.0 }
    }

    /// Returns the continuous actions.
    ///
    /// # Panics
    /// Panics if the actions are choices.
    pub(crate) fn expect_continuous(&self) -> &ContinuousActions {
        match self {
            Self::Continuous(actions) => actions,
            Self::Joint(_) | Self::Masked(_) => panic!("learners of continuous actions refuse choices"),
        }
    }

    /// Returns the choices.
    ///
    /// # Panics
    /// Panics if the actions are continuous.
    pub(crate) fn expect_joint(&self) -> &JointActions {
        self.joint().expect("learners of choices refuse continuous actions")
    }
}

impl From<JointActions> for TaskActions {
    fn from(actions: JointActions) -> Self {
        Self::Joint(actions)
    }
}

impl From<ContinuousActions> for TaskActions {
    fn from(actions: ContinuousActions) -> Self {
        Self::Continuous(actions)
    }
}

impl fmt::Display for TaskActions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Joint(actions) => actions.fmt(f),
            Self::Masked(actions) => write!(f, "{actions} with masks"),
            Self::Continuous(actions) => actions.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inverse_entropies_by_hand() {
        let inverse_entropy = |actions| TaskActions::Joint(actions).inverse_entropy();
        assert_eq!(inverse_entropy(JointActions::discrete(1)), 0.0);
        assert_eq!(inverse_entropy(JointActions::product(&[1, 1]).unwrap()), 0.0);
        let four = [JointActions::discrete(4), JointActions::product(&[2, 2]).unwrap()];
        assert!(four.into_iter().all(|four| (inverse_entropy(four) - 0.5 / 2f32.ln()).abs() < 1e-6));
    }
}
