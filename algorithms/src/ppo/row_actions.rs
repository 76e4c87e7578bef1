use burn::tensor::{Device, Int, Tensor};

use super::choices::Choices;
use super::gaussian::Components;
use super::loss::Terms;
use crate::Task;
use crate::experience::rollout::Rollout;
use crate::networks::Outputs;

/// The actions of the rows of a minibatch.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "a minibatch has one, which is moved once")]
pub(super) enum RowActions {
    /// Actions of one choice or several.
    Joint(Choices),
    /// Continuous actions.
    Continuous(Components),
}

impl RowActions {
    /// Collects the actions of some entries of a rollout. `task` returns the task of an entry.
    pub(super) fn new(
        entries: &[usize],
        task: impl Fn(usize) -> usize,
        rollout: &Rollout,
        tasks: &[Task],
        device: &Device,
    ) -> Self {
        if tasks.iter().any(|task| task.actions.joint().is_some()) {
            let actions = entries.iter().map(|&entry| (task(entry), rollout.action(entry)));
            return Self::Joint(Choices::new(actions, tasks, device));
        }
        let actions = entries.iter().map(|&entry| (task(entry), rollout.components(entry)));
        Self::Continuous(Components::new(actions, tasks, device))
    }

    /// Creates actions of single choices with these options, `[rows]`.
    pub(super) fn single(options: Tensor<1, Int>) -> Self {
        Self::Joint(Choices::Single(options))
    }

    /// Computes the terms of the actions under the policies of `outputs`.
    pub(super) fn terms(self, outputs: &Outputs) -> Terms {
        let logits = outputs.logits.clone();
        match (self, &outputs.log_deviations) {
            (Self::Joint(choices), _) => {
                let policies = choices.policies(logits);
                Terms { log_probs: policies.log_prob(), entropies: policies.entropies() }
            }
            (Self::Continuous(components), Some(log_deviations)) => {
                components.terms(logits, log_deviations.clone(), outputs.squashes)
            }
            (Self::Continuous(_), None) => unreachable!("heads of continuous actions have deviations"),
        }
    }
}
