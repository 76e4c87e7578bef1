//! The training loop of a process that trains alone or leads a team.

use std::time::Instant;

use anyhow::Result;
use rl_env::{ActionKind, ResetSeeds};

use super::clock::Clock;
use super::collection::Collection;
use super::divergence;
use super::health::Health;
use super::hyperparameters;
use super::run::{InitialState, Run};
use super::services::Services;
use super::tally::Tally;
use super::team::{Decision, Team};
use crate::checkpoint::{self, CheckpointWriter, NewEpisodes};
use crate::interval::Interval;
use crate::learner::Workload;
use crate::telemetry::{Moment, Printer, Record, Sample, Telemetry};

/// Offset of the seeds of new episodes of a resumed run, so that they repeat neither the first episodes nor those of
/// evaluations.
const SEED_DISTANCE: u64 = 2_000_000;

/// The state of the training loop. Checkpoints contain what is needed to create it again.
pub(super) struct Training<'a> {
    pub(super) team: Team,
    pub(super) clock: Clock,
    pub(super) tally: Tally,
    pub(super) services: Services<'a>,
    /// The experience that checkpoints contain.
    pub(super) workload: Workload,
    pub(super) collection: Collection,
    evaluations: Interval,
    health: Health,
}

impl Training<'_> {
    /// Records the samples of episodes that ended.
    fn record_episodes(&mut self, samples: Vec<Sample>) {
        let moment = self.clock.moment;
        self.services.telemetry.status().advance(moment);
        if !samples.is_empty() {
            self.health.check(moment.updates, &samples);
            self.services.telemetry.record(&Record { moment, samples });
        }
    }

    /// Returns true if this process, or the team, was asked to stop.
    fn is_stopping(&self) -> bool {
        self.services.local_interrupt.is_requested() || self.team.interrupt().is_requested()
    }
}

impl Run {
    /// Trains until the budget is used up or a signal arrives, with checkpoints during training and at its end.
    pub(super) fn train(&mut self, team: Team, services: Services<'_>) -> Result<()> {
        if self.is_finished() {
            return Ok(());
        }
        let mut training = self.begin(team, services)?;
        match self.train_until_the_end(&mut training) {
            Ok(()) => self.save_at_end(&mut training),
            Err(error) => Err(self.save_after_fault(&mut training, error)),
        }
    }

    fn train_until_the_end(&mut self, training: &mut Training<'_>) -> Result<()> {
        while self.prepare_step(training)? {
            self.step(training)?;
        }
        Ok(())
    }

    /// Starts the environments and the curves.
    fn begin<'a>(&mut self, team: Team, services: Services<'a>) -> Result<Training<'a>> {
        let clock = Clock::new(self.progress.moment, self.experiment.frames_per_step());
        let rounds = self.experiment.budgets.rounds_within(self.progress.moment.steps);
        let tally = Tally::new(
            self.environments.tasks(),
            self.environments.task_ids(),
            &self.progress.recent_returns,
            self.experiment.budgets.steps_of_games(rounds),
        );
        let mut health = Health::new(&self.experiment, self.action_kind(), services.printer.clone());
        health.replay(&self.directory);
        self.show_beginning(services.telemetry)?;
        let workload = self.experiment.algorithm.workload(self.learner.spec())?;
        let collection = self.start_environments(|warning| services.printer.warn(warning))?;
        self.note_new_episodes(services.writer, services.printer)?;
        let evaluations = self.evaluations();
        let mut training =
            Training { team, clock, tally, services, workload, collection, evaluations, health };
        if matches!(self.initial_state, InitialState::Transferred) {
            // The seed alone does not reproduce these weights.
            self.save(&mut training)?;
        }
        Ok(training)
    }

    /// Prepares a step with what is due before it: a synchronization of the team, updates, an evaluation and a
    /// checkpoint. Returns false if training is over.
    fn prepare_step(&mut self, training: &mut Training<'_>) -> Result<bool> {
        let is_sync_point = training.team.is_sync_point(self.learner.as_ref());
        if is_sync_point {
            let log = training.team.exchange(training.services.local_interrupt)?;
            let samples = training.clock.count_log(&mut training.tally, &log);
            training.record_episodes(samples);
        }
        // Updates first, because a run may have stopped just before one. With overlap, two updates are due at the
        // end.
        let mut has_updated = false;
        while self.learner.is_ready() && self.update(training)? {
            has_updated = true;
        }
        // Before the checkpoint, which stores its score; also after resuming from an interrupted evaluation.
        let mut is_score_unsaved = false;
        if self.learner.is_idle() && !training.is_stopping() {
            let Training { evaluations, clock, services, .. } = training;
            let has_evaluated =
                self.evaluate_if_due(evaluations, clock, services.telemetry, services.local_interrupt)?;
            // If a signal interrupted this evaluation before, the checkpoint of this moment lacks its score.
            let lacks_score = has_evaluated && services.writer.has(&clock.moment);
            if lacks_score {
                services.writer.forget_saved();
            }
            is_score_unsaved = lacks_score || (has_evaluated && self.is_best(services.writer));
        }
        // The leader alone decides when a team stops. It stops here, so that a resumed run repeats an evaluation that
        // the signal interrupted with the same agent.
        if is_sync_point && let Some(signal) = training.services.local_interrupt.signal() {
            training.team.interrupt().request(signal);
        }
        let is_stopped = training.team.interrupt().is_requested() && training.collection.is_at_rest();
        let is_over = self.learner.is_complete() || is_stopped;
        let may_save = !is_over && (is_sync_point || training.team.is_alone());
        // An agent with non-finite outputs fails in its next step, with a more detailed error.
        let is_due = may_save && (self.is_checkpoint_due(training, has_updated)? || is_score_unsaved);
        let saves = is_due && self.check_agent().is_ok();
        if is_sync_point {
            let saves = saves || (is_over && !training.services.writer.has(&training.clock.moment));
            training.team.broadcast(Decision { saves, ends: is_over })?;
        }
        if saves {
            self.save_if_possible(training)?;
        }
        Ok(!is_over)
    }

    fn action_kind(&self) -> ActionKind {
        let are_discrete = self.learner.spec().tasks.iter().all(|task| task.actions.joint().is_some());
        if are_discrete { ActionKind::Discrete } else { ActionKind::Continuous }
    }

    /// Shows the settings at the beginning of the curves of a new run.
    fn show_beginning(&self, telemetry: &mut Telemetry) -> Result<()> {
        if matches!(self.initial_state, InitialState::Restored { .. }) {
            return Ok(());
        }
        for media in [hyperparameters::text(&self.experiment)?, hyperparameters::session(&self.experiment)?] {
            telemetry.show(&Moment::default(), &media);
        }
        Ok(())
    }

    /// Resets the environments, or restores them as they were. Warns if the run does not continue their episodes.
    pub(super) fn start_environments(&mut self, warn: impl FnOnce(&str)) -> Result<Collection> {
        let seed = self.experiment.run.seed;
        let saved = match &self.initial_state {
            InitialState::Fresh | InitialState::Transferred => None,
            InitialState::Restored { environments, .. } => Some(environments),
        };
        match saved.map(|saved| (saved, self.environments.why_state_was_lost(saved))) {
            None => {
                self.environments.reset(ResetSeeds::From(seed))?;
                self.update_opponents(self.progress.moment.frames)?;
            }
            Some((saved, None)) => {
                self.environments.restore(saved)?;
            }
            Some((_, Some(reason))) => {
                warn(&format!(
                    "new episodes start, because the checkpoint does not have the state of the former ones: {reason}"
                ));
                let Moment { steps, frames, .. } = self.progress.moment;
                let seed = seed.wrapping_add(SEED_DISTANCE).wrapping_add(steps);
                self.environments.reset(ResetSeeds::From(seed))?;
                self.progress.new_episodes.push(NewEpisodes { frames, reason });
            }
        }
        let rounds = self.experiment.budgets.rounds_within(self.progress.moment.steps);
        let collection = Collection::begin(self.environments.as_mut())?;
        for (env, steps) in self.experiment.budgets.steps_left(rounds).enumerate() {
            self.environments.limit_steps(env, steps)?;
        }
        Ok(collection)
    }

    /// Lets the agent after `frames` frames play as one of its opponents, if that is due.
    fn update_opponents(&mut self, frames: u64) -> Result<()> {
        match self.environments.opponents() {
            Some(opponents) => opponents.update(frames, self.learner.as_ref()),
            None => Ok(()),
        }
    }

    /// Writes to the directory of the run when it started new episodes, and why it will when it is resumed.
    fn note_new_episodes(&self, writer: &mut CheckpointWriter, printer: &Printer) -> Result<()> {
        let unsaved = self.environments.why_state_cannot_be_saved();
        if let Some(reason) = &unsaved
            && !matches!(self.initial_state, InitialState::Restored { .. })
        {
            printer.warn(&format!(
                "a resumed run will start new episodes, because their state cannot be saved: {reason}"
            ));
        }
        checkpoint::publish_new_episodes(&self.directory, unsaved.as_deref(), &self.progress.new_episodes)?;
        writer.remember_files();
        Ok(())
    }

    /// Steps the environments and records the episodes that end.
    fn step(&mut self, training: &mut Training<'_>) -> Result<()> {
        let (environments, learner) = (self.environments.as_mut(), self.learner.as_mut());
        let Training { team, collection, clock, tally, .. } = training;
        let stops = team.interrupt().is_requested();
        let began = Instant::now();
        let batch = collection.step(environments, learner, &mut clock.phases, stops);
        let batch = batch.map_err(|error| match error.downcast() {
            Ok(error) => divergence::report(error, &self.directory),
            Err(error) => error,
        })?;
        match batch {
            None => {}
            Some(batch) if team.is_alone() => {
                let samples = clock.count(tally, batch);
                training.record_episodes(samples);
            }
            Some(batch) => team.record_batch(batch, began.elapsed()),
        }
        Ok(())
    }

    /// Updates the learner and records its metrics. Returns false if a signal arrives before the end: the update is
    /// then still due. A team always completes the update.
    fn update(&mut self, training: &mut Training<'_>) -> Result<bool> {
        let Training { team, clock, tally, health, services, .. } = training;
        let began = Instant::now();
        let samples =
            self.learner.update_unless(&|| team.is_alone() && services.local_interrupt.is_requested());
        let samples = samples.map_err(|error| divergence::report(error, &self.directory))?;
        let Some(mut samples) = samples else { return Ok(false) };
        clock.phases.learning += began.elapsed();
        clock.moment.updates = self.learner.updates();
        self.update_opponents(clock.moment.frames)?;
        if !samples.is_empty() {
            samples.extend(clock.samples());
            samples.extend(clock.phases.take_samples());
            if self.experiment.distributed.report_ranks {
                samples.extend(team.take_speeds());
            }
            samples.extend(tally.recent_samples(&self.experiment.games));
            samples.extend(tally.frames(self.experiment.frames_per_step()));
            samples.extend(
                self.environments.opponents().map(|opponents| opponents.samples()).unwrap_or_default(),
            );
            let flags = health.check(clock.moment.updates, &samples);
            samples.extend(flags);
            services.telemetry.record(&Record { moment: clock.moment, samples });
            services.telemetry.flush();
        }
        Ok(true)
    }
}
