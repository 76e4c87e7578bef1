//! The checkpoints of a run, and the directory that they are in.

use std::mem;

use anyhow::{Error, Result, bail};

use super::divergence;
use super::run::Run;
use super::services::Services;
use super::team::SharedState;
use super::training::Training;
use crate::checkpoint::{Checkpoint, CheckpointWriter, Presence, Progress};
use crate::failure::sentence;
use crate::telemetry::{Media, Moment, Telemetry};

impl Run {
    /// Returns true if a checkpoint is due, also because `ale-train checkpoint` requests it or the directory of the run
    /// was lost.
    pub(super) fn is_checkpoint_due(&self, training: &mut Training<'_>, has_updated: bool) -> Result<bool> {
        let was_lost = has_updated && self.restore_directory(&mut training.services)?;
        let Training { clock, workload, services: Services { writer, .. }, .. } = training;
        let is_idle = self.learner.is_idle();
        let experience = workload.in_checkpoint_after(clock.moment.steps);
        Ok((has_updated && writer.is_due(clock.moment.frames))
            || (is_idle && writer.is_due_by_time(experience))
            || ((is_idle || has_updated) && writer.is_requested())
            || was_lost)
    }

    /// Returns true if the newest evaluation has a higher score than every checkpoint, so that a checkpoint of the
    /// evaluated agent would be the best one.
    pub(super) fn is_best(&self, writer: &CheckpointWriter) -> bool {
        self.progress.evaluation.as_ref().is_some_and(|evaluation| writer.is_best(evaluation.score))
    }

    /// Writes a checkpoint during training, which continues if that fails.
    pub(super) fn save_if_possible(&mut self, training: &mut Training<'_>) -> Result<()> {
        self.show_weights(&training.clock.moment, training.services.telemetry)?;
        // A request from now on is for a later checkpoint.
        let is_requested = training.services.writer.is_requested();
        let saved = self.save(training);
        let Services { writer, printer, .. } = &mut training.services;
        // Before old checkpoints are removed, which may take long: until the answer, another request joins this one.
        let answered = if is_requested { writer.answer_request() } else { Ok(()) };
        let removed = if saved.is_ok() { writer.remove_old() } else { Ok(()) };
        for error in [saved, answered, removed].into_iter().filter_map(Result::err) {
            let error = self.unless_diverged(error)?;
            // By the next time, a full disk may have space again.
            printer.warn(&format!("{}; training continues", sentence(&error)));
        }
        Ok(())
    }

    /// Writes the last checkpoint.
    pub(super) fn save_at_end(&mut self, training: &mut Training<'_>) -> Result<()> {
        self.restore_directory(&mut training.services)?;
        self.check_agent()?;
        if !training.team.interrupt().is_requested() {
            self.show_weights(&training.clock.moment, training.services.telemetry)?;
        }
        if training.services.writer.has(&training.clock.moment) {
            self.note_progress(training);
            return Ok(());
        }
        self.save(training).or_else(|error| Err(self.unless_diverged(error)?))?;
        if let Err(error) = training.services.writer.remove_old() {
            training.services.printer.warn(&sentence(&error));
        }
        Ok(())
    }

    /// Writes a checkpoint of the progress so far.
    pub(super) fn save(&mut self, training: &mut Training<'_>) -> Result<()> {
        self.note_progress(training);
        let Training { team, services, .. } = training;
        let learner = SharedState::new(self.learner.as_ref());
        let saved = services.writer.write(&Checkpoint {
            config: self.experiment.to_toml()?,
            progress: self.progress.clone(),
            learner: &learner,
            environments: team.snapshot(self.environments.as_ref())?,
        });
        // The other processes write the learner in any case, so this one must take part even after a failure such as a
        // full disk.
        if !team.is_alone() {
            learner.contribute()?;
        }
        saved
    }

    fn note_progress(&mut self, training: &mut Training<'_>) {
        let Training { clock, tally, services, .. } = training;
        let score = if self.evaluations().is_used() {
            self.progress.evaluation.as_ref().map(|evaluation| evaluation.score)
        } else {
            tally.score(&self.experiment.games)
        };
        self.progress = Progress {
            moment: clock.moment,
            recent_returns: tally.recent_returns(),
            score,
            evaluation: self.progress.evaluation.take(),
            amendments: mem::take(&mut self.progress.amendments),
            new_episodes: mem::take(&mut self.progress.new_episodes),
            telemetry: services.telemetry.positions(),
        };
    }

    /// Fails if the outputs of the network for the current observations are not finite, which finite weights do not
    /// rule out. Such an agent is not saved.
    pub(super) fn check_agent(&self) -> Result<()> {
        let player = self.learner.player(self.learner.spec(), true, self.experiment.run.seed)?;
        match player.readings(self.environments.batch()) {
            Ok(_) => Ok(()),
            Err(error) => Err(divergence::report(error, &self.directory)),
        }
    }

    /// Creates the directory of the run again if it was deleted; curves keep their contents. Returns true if so. Fails
    /// if another run has taken its place.
    fn restore_directory(&self, services: &mut Services<'_>) -> Result<bool> {
        let directory = self.directory.display();
        match services.writer.presence() {
            Presence::Present => Ok(false),
            Presence::Missing => {
                services.printer.warn(&if self.directory.exists() {
                    format!("the lock file of the run {directory} was deleted; it is created again")
                } else {
                    format!(
                        "the run directory {directory} was deleted or moved; it is created again, with a new \
                         checkpoint, but older checkpoints are lost"
                    )
                });
                services.writer.create_directory_again()?;
                services.telemetry.create_again();
                Ok(true)
            }
            Presence::Replaced => bail!("the run directory {directory} now contains another run"),
        }
    }

    /// Records histograms of the weights of each layer.
    fn show_weights(&self, moment: &Moment, telemetry: &mut Telemetry) -> Result<()> {
        for weights in self.learner.torch_weights()? {
            let values = weights.values.into_iter().map(f64::from).collect();
            let tag = format!("weights/{}", weights.name);
            telemetry.show(moment, &Media::Histogram { tag, values });
        }
        Ok(())
    }

    /// Returns a failure to save, or fails if its cause is that the learner diverged: its state includes an update in
    /// progress.
    fn unless_diverged(&self, failure: Error) -> Result<Error> {
        match divergence::cause_of(&failure) {
            Some(error) => Err(divergence::report(error, &self.directory)),
            None => Ok(failure),
        }
    }
}
