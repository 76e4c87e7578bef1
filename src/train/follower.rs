//! The training loop of a process that follows the leader of its job.

use std::time::Instant;

use anyhow::{Context, Result};

use super::clock::Phases;
use super::run::{InitialState, Run, STOPPING};
use super::team::{SharedState, Team};
use crate::failure::RuntimeFailure;
use crate::interrupt::Interrupt;
use crate::telemetry::Printer;

impl Run {
    /// Trains until the leader ends the training. Prints and writes nothing.
    pub(super) fn follow(mut self) -> Result<()> {
        let local_interrupt = Interrupt::on_first_signal(Printer::Silent, STOPPING);
        self.follow_until_the_end(&local_interrupt).context(RuntimeFailure("training failed"))
    }

    fn follow_until_the_end(&mut self, local_interrupt: &Interrupt) -> Result<()> {
        if !self.changes.is_empty() && matches!(self.initial_state, InitialState::Restored { .. }) {
            // The leader records them in a checkpoint.
            SharedState::new(self.learner.as_ref()).contribute()?;
        }
        if self.is_finished() {
            return Ok(());
        }
        let mut team = Team::new(local_interrupt);
        let mut collection = self.start_environments(|_| ())?;
        if matches!(self.initial_state, InitialState::Transferred) {
            self.contribute_to_checkpoint(&team)?;
        }
        let mut phases = Phases::default();
        loop {
            if team.is_sync_point(self.learner.as_ref()) {
                team.exchange(local_interrupt)?;
                if self.learner.is_ready() {
                    self.learner.update_unless(&|| false)?;
                }
                let decision = team.receive_broadcast()?;
                if decision.saves {
                    self.contribute_to_checkpoint(&team)?;
                }
                if decision.ends {
                    return Ok(());
                }
            }
            let began = Instant::now();
            let (environments, learner) = (self.environments.as_mut(), self.learner.as_mut());
            if let Some(batch) = collection.step(environments, learner, &mut phases, false)? {
                team.record_batch(batch, began.elapsed());
            }
        }
    }

    /// Sends this process's environments and its part of the learner to the leader.
    fn contribute_to_checkpoint(&self, team: &Team) -> Result<()> {
        team.snapshot(self.environments.as_ref())?;
        SharedState::new(self.learner.as_ref()).contribute()
    }
}
