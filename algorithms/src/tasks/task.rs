//! A task of a vector environment, and the sizes that fit all tasks.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::{JointActions, TaskActions};

/// One of the tasks of a vector environment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// The name of the task, such as `pong`.
    pub name: String,
    /// The legal actions.
    pub actions: TaskActions,
    /// The index of each [output](TaskActions::num_outputs) among the [outputs of all
    /// tasks](crate::VectorSpec::shared_outputs). The indices are distinct.
    pub shared: Vec<usize>,
}

impl Task {
    /// Creates a task whose actions are the first of those that all tasks share: a single choice of `num_actions`
    /// options.
    ///
    /// # Panics
    /// Panics if `num_actions` is 0 or more than [`JointActions::MAX_OPTIONS`].
    pub fn new(name: impl Into<String>, num_actions: usize) -> Self {
        Self::of_actions(name, JointActions::discrete(num_actions))
    }

    /// Creates a task whose outputs are the first of those that all tasks share.
    pub fn of_actions(name: impl Into<String>, actions: impl Into<TaskActions>) -> Self {
        let actions = actions.into();
        Self { name: name.into(), shared: (0..actions.num_outputs()).collect(), actions }
    }

    /// Returns true if the outputs of both tasks have the same meaning. Masks do not matter.
    pub(crate) fn has_outputs_of(&self, other: &Self) -> bool {
        self.shared == other.shared && self.actions.clone().masked() == other.actions.clone().masked()
    }

    /// Returns true if the outputs are distinct indices below `count`.
    pub(super) fn is_consistent(&self, count: usize) -> bool {
        let distinct: BTreeSet<usize> = self.shared.iter().copied().collect();
        distinct.len() == self.actions.num_outputs()
            && self.shared.len() == self.actions.num_outputs()
            && distinct.last().is_none_or(|&last| last < count)
    }
}

/// Returns the largest number of outputs of any task.
pub(crate) fn max_outputs(tasks: &[Task]) -> usize {
    tasks.iter().map(|task| task.actions.num_outputs()).max().unwrap_or(0)
}

/// Returns the number of bytes of an action mask, 0 if the tasks have none.
pub(crate) fn mask_bytes(tasks: &[Task]) -> usize {
    if tasks.iter().any(|task| task.actions.are_masked()) { max_outputs(tasks) } else { 0 }
}

/// Returns the largest number of components of a continuous action of any task.
pub(crate) fn max_components(tasks: &[Task]) -> usize {
    tasks.iter().map(|task| task.actions.num_components()).max().unwrap_or(0)
}
