use serde::{Deserialize, Serialize};

use super::action_element::ActionElement;
use super::history::{History, Outcome};

/// A step of an environment, as sent to the processes that do not store its frames.
#[derive(Serialize, Deserialize)]
#[serde(bound = "E: ActionElement")]
pub(super) struct SharedStep<E> {
    /// The position of the observation before the action, and the action; absent if no step has begun.
    begun: Option<(u64, Vec<E>)>,
    /// Absent if the environment only reset.
    outcome: Option<Outcome>,
    /// The number of frames of the environment so far.
    frames: u64,
}

impl<E: ActionElement> SharedStep<E> {
    /// Returns the step that has begun in a history.
    pub(super) fn of(history: &History<E>, outcome: Option<Outcome>) -> Self {
        Self { begun: history.begun(), outcome, frames: history.frames.written() }
    }

    /// Begins the step in the history of another process. Returns its outcome.
    pub(super) fn begin(self, history: &mut History<E>) -> Option<Outcome> {
        if let Some((position, action)) = self.begun {
            history.begin(position, &action);
        }
        history.frames.set_written(self.frames);
        self.outcome
    }
}
