use rand::Rng;

use super::gaussian::GaussianPolicy;
use crate::TaskActions;
use crate::choice_policies::JointPolicy;
use crate::tasks::ChosenAction;

/// The distribution of the actions of a row, on the host. All methods must be given the actions that it was made for.
#[derive(Clone, Debug)]
pub(super) enum RowPolicy {
    Joint(JointPolicy),
    Gaussian(GaussianPolicy),
    /// A sample of an action with a single choice, whose distribution is on the device.
    Sampled {
        option: i32,
        log_prob: f32,
    },
}

impl RowPolicy {
    /// Creates the distribution with the given outputs of the network. `log_deviations` is empty for choices.
    /// Continuous actions are squashed by tanh if `squashes`.
    pub(super) fn new(
        actions: &TaskActions,
        outputs: &[f32],
        log_deviations: &[f32],
        squashes: bool,
    ) -> Self {
        match actions {
            TaskActions::Joint(actions) | TaskActions::Masked(actions) => {
                Self::Joint(JointPolicy::new(actions, outputs))
            }
            TaskActions::Continuous(_) => {
                Self::Gaussian(GaussianPolicy::new(outputs, log_deviations, squashes))
            }
        }
    }

    /// Samples an action. Returns it with its log-probability, or its log-density if it is continuous. Draws one random
    /// number for each choice and two for each component.
    pub(super) fn sample(&self, actions: &TaskActions, rng: &mut impl Rng) -> (ChosenAction, f32) {
        match self {
            Self::Joint(policy) => {
                let (options, log_prob) = policy.sample(actions.expect_joint(), rng);
                (ChosenAction { options, ..ChosenAction::default() }, log_prob)
            }
            Self::Gaussian(policy) => {
                let (components, log_prob) = policy.sample(rng);
                let squashes = policy.squashes();
                (ChosenAction { components, squashes, ..ChosenAction::default() }, log_prob)
            }
            // The device has already used the random number that is drawn here.
            &Self::Sampled { option, log_prob } => {
                Self::skip(actions, rng);
                (ChosenAction { options: vec![option], ..ChosenAction::default() }, log_prob)
            }
        }
    }

    /// Draws and discards the random numbers that [`sample`](Self::sample) would use.
    pub(super) fn skip(actions: &TaskActions, rng: &mut impl Rng) {
        let draws = match actions {
            TaskActions::Joint(actions) | TaskActions::Masked(actions) => actions.num_choices(),
            TaskActions::Continuous(_) => 2 * actions.num_components(),
        };
        for _ in 0..draws {
            let _: f64 = rng.random();
        }
    }

    /// Returns the most probable action, the first one if several are equal.
    pub(super) fn greedy(&self, actions: &TaskActions) -> ChosenAction {
        match self {
            Self::Joint(policy) => {
                let options = policy.greedy(actions.expect_joint());
                ChosenAction { options, ..ChosenAction::default() }
            }
            Self::Gaussian(policy) => {
                let (components, squashes) = (policy.greedy(), policy.squashes());
                ChosenAction { components, squashes, ..ChosenAction::default() }
            }
            Self::Sampled { .. } => unreachable!("only learners sample on the device"),
        }
    }

    /// Returns the log-probability of each action of a discrete space, or that of each option of each choice; empty for
    /// continuous actions.
    pub(super) fn log_probs(&self, actions: &TaskActions) -> Vec<f32> {
        match self {
            Self::Joint(policy) => policy.log_probs(actions.expect_joint()),
            Self::Gaussian(_) => Vec::new(),
            Self::Sampled { .. } => unreachable!("only learners sample on the device"),
        }
    }
}
