//! The actions, estimates and outcomes of steps.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// The steps of consecutive environments without observations, entry by entry.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Results {
    /// The options of the action, padded with 0.
    pub(super) actions: Vec<i32>,
    /// The components of the continuous action, padded with 0.
    pub(super) components: Vec<f32>,
    pub(super) log_probs: Vec<f32>,
    pub(super) values: Vec<f32>,
    pub(super) rewards: Vec<f32>,
    pub(super) terminated: Vec<bool>,
    pub(super) truncated: Vec<bool>,
    /// True for a step that only reset its environment, which is not a transition.
    pub(super) autoreset: Vec<bool>,
    /// The value of the final observation, for truncated steps whose successor is another observation.
    pub(super) final_values: Vec<Option<f32>>,
}

impl Results {
    /// Creates the results of entries that have not been written.
    pub(super) fn new(entries: usize, num_choices: usize, num_components: usize) -> Self {
        Self {
            actions: vec![0; entries * num_choices],
            components: vec![0.0; entries * num_components],
            log_probs: vec![0.0; entries],
            values: vec![0.0; entries],
            rewards: vec![0.0; entries],
            terminated: vec![false; entries],
            truncated: vec![false; entries],
            autoreset: vec![false; entries],
            final_values: vec![None; entries],
        }
    }

    /// Returns the results of some entries.
    pub(super) fn of(&self, entries: Range<usize>, num_choices: usize, num_components: usize) -> Self {
        let each = |width: usize| entries.start * width..entries.end * width;
        Self {
            actions: self.actions[each(num_choices)].to_vec(),
            components: self.components[each(num_components)].to_vec(),
            log_probs: self.log_probs[entries.clone()].to_vec(),
            values: self.values[entries.clone()].to_vec(),
            rewards: self.rewards[entries.clone()].to_vec(),
            terminated: self.terminated[entries.clone()].to_vec(),
            truncated: self.truncated[entries.clone()].to_vec(),
            autoreset: self.autoreset[entries.clone()].to_vec(),
            final_values: self.final_values[entries].to_vec(),
        }
    }

    /// Joins the results of consecutive environments.
    pub(super) fn join(parts: impl Iterator<Item = Self>) -> Self {
        let mut all = Self::default();
        for part in parts {
            all.actions.extend(part.actions);
            all.components.extend(part.components);
            all.log_probs.extend(part.log_probs);
            all.values.extend(part.values);
            all.rewards.extend(part.rewards);
            all.terminated.extend(part.terminated);
            all.truncated.extend(part.truncated);
            all.autoreset.extend(part.autoreset);
            all.final_values.extend(part.final_values);
        }
        all
    }

    /// Returns the number of elements of each field.
    pub(super) fn lengths(&self) -> [usize; 9] {
        [
            self.actions.len(),
            self.components.len(),
            self.log_probs.len(),
            self.values.len(),
            self.rewards.len(),
            self.terminated.len(),
            self.truncated.len(),
            self.autoreset.len(),
            self.final_values.len(),
        ]
    }
}
