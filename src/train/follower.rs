//! The training of a process that follows the leader of its job.

use anyhow::{Context, Result};

use super::clock::Phases;
use super::run::{InitialState, Run, STOPPING};
use super::team::Team;
use crate::failure::AtWork;
use crate::interrupt::Interrupt;
use crate::telemetry::Printer;

impl Run {
    /// Trains until the leader ends it. Nothing is printed or written.
    pub(super) fn follow(mut self) -> Result<()> {
        let heard = Interrupt::to_be_asked(Printer::Silent, STOPPING);
        self.follow_until_the_end(&heard).context(AtWork { doing: "training failed" })
    }

    fn follow_until_the_end(&mut self, heard: &Interrupt) -> Result<()> {
        if self.learner.is_complete() {
            return Ok(());
        }
        let mut team = Team::new(heard);
        let mut collection = self.start_environments()?;
        if matches!(self.initial_state, InitialState::Transferred) {
            team.snapshot(self.environments.as_ref())?;
        }
        let mut phases = Phases::default();
        loop {
            if self.learner.is_ready() {
                team.exchange(heard)?;
                self.learner.update_unless(&|| false)?;
                let decision = team.listen()?;
                if decision.saves {
                    team.snapshot(self.environments.as_ref())?;
                }
                if decision.ends {
                    return Ok(());
                }
            }
            let (environments, learner) = (self.environments.as_mut(), self.learner.as_mut());
            if let Some(batch) = collection.step(environments, learner, &mut phases, false)? {
                team.note(batch);
            }
        }
    }
}
