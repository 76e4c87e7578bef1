//! A run from its plan to its final scores.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result};
use burn::tensor::Device;

use super::plan::Subject;
use super::services::Services;
use super::team::Team;
use crate::checkpoint::{self, CheckpointWriter, Progress};
use crate::cluster;
use crate::config::{Change, Experiment};
use crate::environments::{Builder, Environments};
use crate::failure::{Interrupted, RuntimeFailure};
use crate::interrupt::Interrupt;
use crate::learner::Learner;
use crate::output::quoted;
use crate::quantity;
use crate::scores::{FinalScores, Scores};
use crate::telemetry::{Extent, Forecast, Media, Printer, ProgressLine, Telemetry};

/// The message that the first signal prints.
pub(super) const STOPPING: &str =
    "stopping now and writing a checkpoint; interrupt again to stop without one";

/// The largest number of games that the first line names.
const NAMED_GAMES: usize = 6;

/// The initial state of the environments.
pub(super) enum InitialState {
    /// The first episodes.
    Fresh,
    /// The first episodes; the weights come from another agent.
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
    /// True if only results, warnings and errors are printed.
    pub(super) quiet: bool,
    /// True if standard output consists of the records as JSON.
    pub(super) json: bool,
    /// True if the table of games is shown in small terminals and outside terminals too.
    pub(super) per_game: bool,
}

impl OutputOptions {
    /// Prints the scores. If standard output is for records, prints them to standard error, unless quiet.
    pub(super) fn print(&self, table: &[u8], printer: &Printer, out: &mut impl Write) -> Result<()> {
        if table.is_empty() {
            return Ok(());
        }
        if self.json {
            printer.say_lines(String::from_utf8_lossy(table).trim_end());
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
        let local_interrupt = Interrupt::on_first_signal(printer.clone(), STOPPING);
        let mut writer = self.checkpoint_writer()?;
        if let Some(scores) = self.scores_to_repeat() {
            self.publish_changes().context(RuntimeFailure("the run cannot continue"))?;
            Interrupt::exit_on_next_signal(self.resume_command());
            return self.repeat_scores(scores, &local_interrupt, &printer, output, out);
        }
        self.announce(&printer);
        let forecast =
            self.present(&printer, &local_interrupt).context(RuntimeFailure("the measurement failed"))?;
        let progress_line = ProgressLine::new(printer.clone(), self.extent(forecast)?, output.per_game);
        self.abandon_newer_checkpoints(&writer, &printer)
            .and_then(|()| self.discard_stale_scores())
            .context(RuntimeFailure("the run cannot continue"))?;
        let mut telemetry = Telemetry::open(
            &self.directory,
            &self.progress.telemetry,
            &self.experiment.games.tracked(),
            progress_line,
            output.json,
        )?;
        self.record_changes(&mut telemetry, &mut writer, &printer)
            .context(RuntimeFailure("the run cannot continue"))?;
        // If the directory is deleted later, it is created again with these files.
        writer.remember_files();
        let team = Team::new(&local_interrupt);
        let team_interrupt = team.interrupt().clone();
        let services = Services {
            telemetry: &mut telemetry,
            writer: &mut writer,
            local_interrupt: &local_interrupt,
            printer: &printer,
        };
        self.train(team, services).context(RuntimeFailure("training failed"))?;
        self.fail_if_stopped(&team_interrupt)?;
        let mut table = Vec::new();
        if self.learner.is_complete() {
            // The checkpoint is written, and a resumed run repeats the evaluation.
            Interrupt::exit_on_next_signal(self.resume_command());
            self.close(&mut telemetry, &local_interrupt, &printer, &mut table)
                .context(RuntimeFailure("evaluation failed"))?;
            if !local_interrupt.is_requested() {
                telemetry.show(&self.progress.moment, &Media::SessionEnd);
            }
        }
        // This erases the progress line from the terminal, and the lines below it, where the scores are printed next.
        drop(telemetry);
        output.print(&table, &printer, out)?;
        self.fail_if_stopped(&local_interrupt)?;
        printer.say(&format!("the run is in {}", self.directory.display()));
        printer.say_lines(&self.next_commands());
        Ok(())
    }

    /// Returns the scores of a resumed run in which nothing is left to do except to print them.
    fn scores_to_repeat(&self) -> Option<FinalScores> {
        let is_resumed = matches!(self.initial_state, InitialState::Restored { .. });
        if is_resumed && self.is_finished() && self.changes.is_empty() { self.known_scores() } else { None }
    }

    fn announce(&self, printer: &Printer) {
        let experiment = &self.experiment;
        let games = experiment.games.labels();
        let games =
            if games.len() > NAMED_GAMES { format!("{} games", games.len()) } else { games.join(", ") };
        printer.say(&format!(
            "{} on {games}, seed {}, run directory {}",
            experiment.run.algorithm.descriptor().title,
            experiment.run.seed,
            self.directory.display()
        ));
        let frames = self.progress.moment.frames;
        if frames > 0 {
            let [frames, all] = [frames, experiment.final_frames()].map(quantity::count);
            printer.say(&format!("continues at {frames} of {all} frames"));
        }
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
            total_frames: experiment.final_frames(),
            beginning: self.progress.moment,
            games: experiment.games.tracked(),
            forecast,
            learning_starts: workload.learning_starts * experiment.frames_per_step(),
            evaluation_interval: if evaluation.episodes > 0 { evaluation.interval_frames } else { 0 },
            evaluation_episodes: evaluation.episodes,
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
            self.progress.moment,
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

    pub(super) fn fail_if_stopped(&self, interrupt: &Interrupt) -> Result<()> {
        let Some(signal) = interrupt.signal() else { return Ok(()) };
        Err(Interrupted { signal, resume_command: Some(self.resume_command()) }.into())
    }

    /// Returns the command that continues the run, in backticks, for messages.
    pub(super) fn resume_command(&self) -> String {
        format!("`ale-train resume {}`", quoted(&self.directory))
    }
}
