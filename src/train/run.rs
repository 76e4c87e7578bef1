use std::fs::File;
use std::io::Write;
use std::mem;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Error, Result, bail};
use burn::tensor::Device;
use rl_env::ResetSeeds;

use super::clock::Clock;
use super::collection::Collection;
use super::divergence;
use super::health::Health;
use super::hyperparameters;
use super::plan::Subject;
use super::tally::Tally;
use super::team::{Decision, SharedState, Team};
use crate::checkpoint::{self, Checkpoint, CheckpointWriter, Presence, Progress};
use crate::cluster;
use crate::config::{Change, Experiment};
use crate::environments::{Builder, Environments};
use crate::failure::{AtWork, Interrupted, sentence};
use crate::interrupt::Interrupt;
use crate::learner::Learner;
use crate::output::quoted;
use crate::scores::Scores;
use crate::telemetry::{Extent, Forecast, Media, Moment, Printer, ProgressLine, Record, Sample, Telemetry};

/// The message that the first signal prints.
pub(super) const STOPPING: &str =
    "stopping now and writing a checkpoint; interrupt again to stop without one";

/// The initial state of the environments.
pub(super) enum InitialState {
    /// The first episodes.
    Fresh,
    /// The first episodes of an agent with the weights of another one.
    Transferred,
    /// The state in a checkpoint.
    Restored { environments: Vec<u8>, checkpoint: PathBuf },
}

/// A run that is ready to train.
pub(super) struct Run {
    pub(super) experiment: Experiment,
    pub(super) directory: PathBuf,
    /// The lock of the directory, if this process has it already.
    pub(super) lock: Option<File>,
    pub(super) builder: Builder,
    pub(super) environments: Box<dyn Environments>,
    pub(super) learner: Box<dyn Learner>,
    pub(super) device: Device,
    pub(super) initial_state: InitialState,
    pub(super) progress: Progress,
    /// The settings that a resumed run changes.
    pub(super) changes: Vec<Change>,
    /// The scores of the newest evaluation by this process.
    pub(super) scores: Vec<Scores>,
}

/// The amount and format of the output of a run.
pub(super) struct OutputOptions {
    /// True if only errors and the final scores are printed.
    pub(super) quiet: bool,
    /// True if standard output consists of the records as JSON.
    pub(super) json: bool,
    /// True if the table of games is shown wherever the output goes.
    pub(super) per_game: bool,
}

impl OutputOptions {
    /// Prints the scores: to standard error if standard output is for records.
    pub(super) fn print(&self, table: &[u8], printer: &Printer, out: &mut impl Write) -> Result<()> {
        if table.is_empty() {
            return Ok(());
        }
        if self.json {
            printer.say(String::from_utf8_lossy(table).trim_end());
            return Ok(());
        }
        Ok(out.write_all(table)?)
    }
}

impl Run {
    /// Trains, writes a checkpoint and, unless interrupted, evaluates the agent.
    pub(super) fn execute(mut self, output: &OutputOptions, out: &mut impl Write) -> Result<()> {
        if cluster::is_follower() {
            return self.follow();
        }
        let printer = Printer::new(output.quiet);
        let interrupt = Interrupt::to_be_asked(printer.clone(), STOPPING);
        let mut writer = self.checkpoint_writer()?;
        if let InitialState::Restored { .. } = self.initial_state
            && self.is_finished()
            && self.changes.is_empty()
            && let Some(scores) = self.known_scores()
        {
            self.publish_changes().context(AtWork { doing: "the run cannot continue" })?;
            Interrupt::end_at_once(self.again());
            return self.repeat_scores(scores, &interrupt, &printer, output, out);
        }
        self.announce(&printer);
        let forecast =
            self.present(&printer, &interrupt).context(AtWork { doing: "the measurement failed" })?;
        let progress_line = ProgressLine::new(printer.clone(), self.extent(forecast)?, output.per_game);
        self.abandon_newer_checkpoints(&writer, &printer)
            .and_then(|()| self.discard_stale_scores())
            .context(AtWork { doing: "the run cannot continue" })?;
        let mut telemetry =
            Telemetry::open(&self.directory, &self.progress.telemetry, progress_line, output.json)?;
        self.record_changes(&mut telemetry, &mut writer, &printer)
            .context(AtWork { doing: "the run cannot continue" })?;
        writer.remember_files();
        let mut team = Team::new(&interrupt);
        self.train(&mut team, &mut telemetry, &mut writer, &interrupt, &printer)
            .context(AtWork { doing: "training failed" })?;
        self.fail_if_stopped(team.interrupt())?;
        let mut table = Vec::new();
        if self.learner.is_complete() {
            // The checkpoint is written, and a resumed run repeats the evaluation.
            Interrupt::end_at_once(self.again());
            self.close(&mut telemetry, &interrupt, &printer, &mut table)
                .context(AtWork { doing: "evaluation failed" })?;
            if !interrupt.is_requested() {
                telemetry.show(&self.progress.moment, &Media::SessionEnd);
            }
        }
        // This erases the progress line from the terminal, and the lines below it, where the scores are printed next.
        drop(telemetry);
        output.print(&table, &printer, out)?;
        self.fail_if_stopped(&interrupt)?;
        printer.say(&format!("the run is in {}", self.directory.display()));
        Ok(())
    }

    fn announce(&self, printer: &Printer) {
        let experiment = &self.experiment;
        let games = experiment.games.names();
        let games = if games.len() > 6 { format!("{} games", games.len()) } else { games.join(", ") };
        printer.say(&format!(
            "{} on {games}, seed {}, run directory {}",
            experiment.run.algorithm.descriptor().title,
            experiment.run.seed,
            self.directory.display()
        ));
    }

    /// Prints the plan of the run. Returns the forecast of its duration, if it was measured.
    fn present(&mut self, printer: &Printer, interrupt: &Interrupt) -> Result<Option<Forecast>> {
        let subject = Subject {
            experiment: &self.experiment,
            builder: &self.builder,
            learner: self.learner.as_ref(),
            device: &self.device,
            moment: self.progress.moment,
        };
        subject.present(self.environments.as_mut(), printer, &|| interrupt.is_requested())
    }

    fn extent(&self, forecast: Option<Forecast>) -> Result<Extent> {
        let experiment = &self.experiment;
        let workload = experiment.algorithm.workload(self.learner.spec())?;
        let evaluation = &experiment.evaluation;
        Ok(Extent {
            total_frames: experiment.total_frames(),
            beginning: self.progress.moment,
            games: experiment.games.names().into_iter().map(str::to_owned).collect(),
            forecast,
            learning_starts: workload.learning_starts * experiment.frames_per_step(),
            evaluation_interval: if evaluation.episodes > 0 { evaluation.interval_frames } else { 0 },
        })
    }

    fn checkpoint_writer(&mut self) -> Result<CheckpointWriter> {
        let lock = match self.lock.take() {
            Some(lock) => lock,
            None => checkpoint::lock(&self.directory)?,
        };
        let saved =
            matches!(self.initial_state, InitialState::Restored { .. }).then_some(self.progress.moment);
        CheckpointWriter::new(
            &self.directory,
            lock,
            &self.experiment.checkpoints,
            self.progress.moment.frames,
            saved,
        )
    }

    /// Moves checkpoints aside that are newer than the one from which the run continues, before the curves are
    /// truncated to it.
    fn abandon_newer_checkpoints(&self, writer: &CheckpointWriter, printer: &Printer) -> Result<()> {
        let InitialState::Restored { checkpoint, .. } = &self.initial_state else { return Ok(()) };
        let Some(abandoned) = writer.abandon_newer_than(checkpoint)? else { return Ok(()) };
        printer.say(&format!(
            "the run continues from {}; its newer checkpoints are now the run {}",
            checkpoint.display(),
            abandoned.display()
        ));
        Ok(())
    }

    /// Trains until the budget is used up or a signal arrives, with checkpoints during training and at its end. `heard`
    /// is the request to stop that this process received; the processes of a team stop together.
    fn train(
        &mut self,
        team: &mut Team,
        telemetry: &mut Telemetry,
        writer: &mut CheckpointWriter,
        heard: &Interrupt,
        printer: &Printer,
    ) -> Result<()> {
        if self.is_finished() {
            return Ok(());
        }
        let interrupt = &team.interrupt().clone();
        let mut clock = Clock::new(self.progress.moment, self.experiment.frames_per_step());
        let rounds = self.experiment.budgets.rounds(self.progress.moment.steps);
        let mut tally = Tally::new(
            self.environments.tasks(),
            self.environments.task_ids(),
            &self.progress.recent_returns,
            self.experiment.budgets.steps_of_games(rounds),
        );
        let mut health = Health::new(&self.experiment, printer.clone());
        health.replay(&self.directory);
        self.show_beginning(telemetry)?;
        let mut collection = self.start_environments()?;
        if matches!(self.initial_state, InitialState::Transferred) {
            // The seed alone does not reproduce these weights.
            self.note_progress(&clock, &tally, telemetry);
            self.save(team, writer)?;
        }
        let mut evaluations = self.evaluations();
        loop {
            let meets = team.meets(self.learner.as_ref());
            if meets {
                let samples = clock.count_log(&mut tally, &team.exchange(heard)?);
                record_episodes(samples, &clock, &mut health, telemetry);
            }
            // Updates first, because a run may have stopped just before one. With overlap, two updates are due at the
            // end.
            let mut has_updated = false;
            while self.learner.is_ready()
                && self.update(team, &mut clock, &mut tally, &mut health, telemetry, heard)?
            {
                has_updated = true;
            }
            // Before the checkpoint, which stores its score; also after resuming from an interrupted evaluation.
            let is_stopping = heard.is_requested() || interrupt.is_requested();
            if self.learner.is_idle() && !is_stopping {
                let has_evaluated = self.evaluate_if_due(&mut evaluations, &mut clock, telemetry, heard)?;
                if has_evaluated && self.learner.is_complete() {
                    // A signal may have interrupted this evaluation before: the checkpoint then lacks its score.
                    writer.forget_saved();
                }
            }
            // The leader alone decides when a team stops. It stops here, so that a resumed run repeats an evaluation that
            // the signal interrupted with the same agent.
            if meets && let Some(signal) = heard.signal() {
                interrupt.request(signal);
            }
            let is_over = self.learner.is_complete() || (interrupt.is_requested() && collection.is_at_rest());
            let was_lost = has_updated && self.restore_directory(writer, telemetry, printer)?;
            let is_due = (has_updated && writer.is_due(clock.moment.frames))
                || (self.learner.is_idle() && writer.is_due_by_time())
                || was_lost;
            let is_due = is_due && (meets || team.is_alone());
            // An agent with non-finite outputs fails in its next step, with a more detailed error.
            let saves = is_due && !is_over && self.check_agent().is_ok();
            if meets {
                let saves = saves || (is_over && !writer.has(&clock.moment));
                team.tell(Decision { saves, ends: is_over })?;
            }
            if saves {
                self.show_weights(&clock.moment, telemetry)?;
                self.note_progress(&clock, &tally, telemetry);
                let saved = self.save(team, writer).and_then(|()| writer.remove_old());
                if let Err(error) = saved {
                    let error = self.unless_diverged(error)?;
                    // By the next time, a full disk may have space again.
                    printer.warn(&format!("{}; training continues", sentence(&error)));
                }
            }
            if is_over {
                break;
            }
            self.step(team, &mut collection, &mut clock, &mut tally, &mut health, telemetry)?;
        }
        self.restore_directory(writer, telemetry, printer)?;
        self.check_agent()?;
        if !interrupt.is_requested() {
            self.show_weights(&clock.moment, telemetry)?;
        }
        self.note_progress(&clock, &tally, telemetry);
        if !writer.has(&self.progress.moment) {
            self.save(team, writer).or_else(|error| Err(self.unless_diverged(error)?))?;
            if let Err(error) = writer.remove_old() {
                printer.warn(&sentence(&error));
            }
        }
        Ok(())
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

    /// Resets the environments, or restores them as they were.
    pub(super) fn start_environments(&mut self) -> Result<Collection> {
        match &self.initial_state {
            InitialState::Fresh | InitialState::Transferred => {
                self.environments.reset(ResetSeeds::From(self.experiment.run.seed))?;
            }
            InitialState::Restored { environments, .. } => {
                self.environments.restore(environments)?;
            }
        }
        let rounds = self.experiment.budgets.rounds(self.progress.moment.steps);
        let collection = Collection::begin(self.environments.as_mut())?;
        for (env, steps) in self.experiment.budgets.steps_left(rounds).enumerate() {
            self.environments.limit_steps(env, steps)?;
        }
        Ok(collection)
    }

    /// Steps the environments and records the episodes that end.
    fn step(
        &mut self,
        team: &mut Team,
        collection: &mut Collection,
        clock: &mut Clock,
        tally: &mut Tally,
        health: &mut Health,
        telemetry: &mut Telemetry,
    ) -> Result<()> {
        let (environments, learner) = (self.environments.as_mut(), self.learner.as_mut());
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
                record_episodes(samples, clock, health, telemetry);
            }
            Some(batch) => team.note(batch, began.elapsed()),
        }
        Ok(())
    }

    /// Updates the learner and records its metrics. Returns false if a signal arrives before the end: the update is
    /// then still due. A team always completes the update.
    fn update(
        &mut self,
        team: &mut Team,
        clock: &mut Clock,
        tally: &mut Tally,
        health: &mut Health,
        telemetry: &mut Telemetry,
        heard: &Interrupt,
    ) -> Result<bool> {
        let began = Instant::now();
        let samples = self.learner.update_unless(&|| team.is_alone() && heard.is_requested());
        let samples = samples.map_err(|error| divergence::report(error, &self.directory))?;
        let Some(mut samples) = samples else { return Ok(false) };
        clock.phases.learning += began.elapsed();
        clock.moment.updates = self.learner.updates();
        if !samples.is_empty() {
            samples.extend(clock.samples());
            samples.extend(clock.phases.take_samples());
            if self.experiment.distributed.report_ranks {
                samples.extend(team.take_speeds());
            }
            samples.extend(tally.recent_samples(&self.experiment.games));
            samples.extend(tally.frames(self.experiment.frames_per_step()));
            let flags = health.check(clock.moment.updates, &samples);
            samples.extend(flags);
            telemetry.record(&Record { moment: clock.moment, samples });
            telemetry.flush();
        }
        Ok(true)
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

    /// Creates the directory of the run again if it was deleted; curves keep their contents. Returns true if so. Fails if
    /// another run has taken its place.
    fn restore_directory(
        &self,
        writer: &mut CheckpointWriter,
        telemetry: &mut Telemetry,
        printer: &Printer,
    ) -> Result<bool> {
        let directory = self.directory.display();
        match writer.presence() {
            Presence::Present => Ok(false),
            Presence::Missing => {
                printer.warn(&format!(
                    "the run directory {directory} was deleted or moved; it is created again, with a new checkpoint, \
                     but older checkpoints are lost"
                ));
                writer.create_directory_again()?;
                telemetry.create_again();
                Ok(true)
            }
            Presence::Replaced => bail!("the run directory {directory} now contains another run"),
        }
    }

    fn note_progress(&mut self, clock: &Clock, tally: &Tally, telemetry: &mut Telemetry) {
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
            telemetry: telemetry.positions(),
        };
    }

    /// Fails if the outputs of the network for the current observations are not finite, which finite weights do not rule
    /// out. Such an agent is not saved.
    fn check_agent(&self) -> Result<()> {
        let player = self.learner.player(self.learner.spec(), true, self.experiment.run.seed)?;
        match player.readings(self.environments.batch()) {
            Ok(_) => Ok(()),
            Err(error) => Err(divergence::report(error, &self.directory)),
        }
    }

    fn save(&self, team: &Team, writer: &mut CheckpointWriter) -> Result<()> {
        let learner = SharedState::new(self.learner.as_ref());
        let saved = writer.write(&Checkpoint {
            config: self.experiment.to_toml()?,
            progress: self.progress.clone(),
            learner: &learner,
            environments: team.snapshot(self.environments.as_ref())?,
        });
        // The other processes write the learner in any case, so this one must take part even after a failure such as a
        // full disk.
        if !team.is_alone() {
            learner.take_part()?;
        }
        saved
    }

    /// Returns a failure to save, or fails if its cause is that the learner diverged: its state includes an update in
    /// progress.
    fn unless_diverged(&self, failure: Error) -> Result<Error> {
        match divergence::cause_of(&failure) {
            Some(error) => Err(divergence::report(error, &self.directory)),
            None => Ok(failure),
        }
    }

    pub(super) fn fail_if_stopped(&self, interrupt: &Interrupt) -> Result<()> {
        let Some(signal) = interrupt.signal() else { return Ok(()) };
        Err(Interrupted { signal, again: Some(self.again()) }.into())
    }

    /// Returns the command that continues the run.
    fn again(&self) -> String {
        format!("`ale-train resume {}`", quoted(&self.directory))
    }
}

/// Records the samples of episodes that ended.
fn record_episodes(samples: Vec<Sample>, clock: &Clock, health: &mut Health, telemetry: &mut Telemetry) {
    telemetry.status().advance(clock.moment);
    if !samples.is_empty() {
        health.check(clock.moment.updates, &samples);
        telemetry.record(&Record { moment: clock.moment, samples });
    }
}
