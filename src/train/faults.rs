//! Faults of environments: the learner is saved, and a resumed run continues with new episodes.

use anyhow::{Error, Result};
use rl_env::VectorError;
use thiserror::Error;

use super::run::Run;
use super::training::Training;
use crate::failure::sentence;

/// A fault of an environment, after which a checkpoint was written.
#[derive(Debug, Error)]
#[error("{fault}; the learner is saved: continue with {resume_command}")]
struct SavedFault {
    fault: String,
    resume_command: String,
}

impl Run {
    /// Writes a checkpoint after a fault of an environment, in training or in an evaluation. Returns the error to
    /// report; any other error is returned as it is.
    pub(super) fn save_after_fault(&mut self, training: &mut Training<'_>, error: Error) -> Error {
        let is_fault = error.downcast_ref().is_some_and(|error| matches!(error, VectorError::Env { .. }));
        // Other processes of a team may be anywhere in their steps.
        if !is_fault || !training.team.is_alone() {
            return error;
        }
        let saved = self.end_steps(training).and_then(|()| self.save_at_end(training));
        if let Err(failure) = saved {
            let printer = training.services.printer;
            printer.warn(&format!("the learner cannot be saved after a fault: {}", sentence(&failure)));
            return error;
        }
        SavedFault { fault: sentence(&error), resume_command: self.resume_command() }.into()
    }

    /// Ends the steps in progress, if the environments have failed in one.
    fn end_steps(&mut self, training: &mut Training<'_>) -> Result<()> {
        let (environments, learner) = (self.environments.as_mut(), self.learner.as_mut());
        let Training { collection, clock, tally, .. } = training;
        while environments.has_failed() {
            if let Some(batch) = collection.end_step(environments, learner, &mut clock.phases)? {
                clock.count(tally, batch);
            }
            if collection.is_at_rest() {
                break;
            }
        }
        Ok(())
    }
}
