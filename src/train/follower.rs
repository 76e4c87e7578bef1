//! The training loop of a process that follows the leader of its job.

use std::time::Instant;

use anyhow::{Context, Result};

use super::clock::Phases;
use super::run::{InitialState, Run, STOPPING};
use super::team::{SharedState, Team};
use crate::failure::AtWork;
use crate::interrupt::Interrupt;
use crate::telemetry::Printer;

impl Run {
    /// Trains until the leader ends the training. Prints and writes nothing.
    pub(super) fn follow(mut self) -> Result<()> {
        let heard = Interrupt::to_be_asked(Printer::Silent, STOPPING);
        self.follow_until_the_end(&heard).context(AtWork { doing: "training failed" })
    }

    fn follow_until_the_end(&mut self, heard: &Interrupt) -> Result<()> {
        if !self.changes.is_empty() && matches!(self.initial_state, InitialState::Restored { .. }) {
            // The leader records them in a checkpoint.
            SharedState::new(self.learner.as_ref()).take_part()?;
        }
        if self.is_finished() {
            return Ok(());
        }
        let mut team = Team::new(heard);
        let mut collection = self.start_environments(|_| ())?;
        if matches!(self.initial_state, InitialState::Transferred) {
            self.take_part_in_checkpoint(&team)?;
        }
        let mut phases = Phases::default();
        loop {
            if team.meets(self.learner.as_ref()) {
                team.exchange(heard)?;
                if self.learner.is_ready() {
                    self.learner.update_unless(&|| false)?;
                }
                let decision = team.listen()?;
                if decision.saves {
                    self.take_part_in_checkpoint(&team)?;
                }
                if decision.ends {
                    return Ok(());
                }
            }
            let began = Instant::now();
            let (environments, learner) = (self.environments.as_mut(), self.learner.as_mut());
            if let Some(batch) = collection.step(environments, learner, &mut phases, false)? {
                team.note(batch, began.elapsed());
            }
        }
    }

    /// Sends this process's environments and its part of the learner to the leader.
    fn take_part_in_checkpoint(&self, team: &Team) -> Result<()> {
        team.snapshot(self.environments.as_ref())?;
        SharedState::new(self.learner.as_ref()).take_part()
    }
}
