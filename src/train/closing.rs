//! The end of a run: its scores, and what to do next.

use std::io::Write;
use std::mem;

use anyhow::{Context, Result};

use super::run::{OutputOptions, Run};
use crate::agent;
use crate::evaluation;
use crate::failure::{RuntimeFailure, sentence};
use crate::interrupt::Interrupt;
use crate::output::quoted;
use crate::scores::{FinalScores, Scores};
use crate::telemetry::{FilePositions, Media, Printer, ProgressLine, Status, Telemetry};

impl Run {
    /// Prints the scores of the final evaluation beside those of a random player. Evaluates the agent first unless this
    /// process has already done so.
    pub(super) fn close(
        &mut self,
        telemetry: &mut Telemetry,
        interrupt: &Interrupt,
        printer: &Printer,
        table: &mut Vec<u8>,
    ) -> Result<()> {
        if self.experiment.evaluation.episodes == 0 {
            return Ok(());
        }
        let frames = self.progress.moment.frames;
        let known = if self.is_evaluated(frames) { self.known_scores() } else { None };
        let scores = match known {
            None => self.agent_scores(telemetry, interrupt)?.map(|agent| FinalScores {
                frames,
                agent,
                random: None,
            }),
            known => known,
        };
        let Some(mut scores) = scores else { return Ok(()) };
        self.keep(&scores, printer);
        self.compare(&mut scores, interrupt, printer, telemetry.status(), table)
    }

    /// Returns the commands that show the agent, one on each line.
    pub(super) fn next_commands(&self) -> String {
        let (games, run) = (self.experiment.games.names(), quoted(&self.directory));
        let mut lines = vec![format!("  ale-train watch {run}")];
        if let Some(game) = games.iter().find(|game| agent::has_screen(game)) {
            let (first, flag) = match games.len() {
                1 => (String::new(), String::new()),
                _ => (format!(" {game}"), format!(" --game {game}")),
            };
            lines.push(format!("  ale-train play{first} --checkpoint {run} --watch"));
            lines.push(format!("  ale-train record {run}{flag} --out agent.gif"));
        }
        lines.join("\n")
    }

    /// Returns the agent's scores at the end, or nothing if a signal arrives before they are known.
    fn agent_scores(
        &mut self,
        telemetry: &mut Telemetry,
        interrupt: &Interrupt,
    ) -> Result<Option<Vec<Scores>>> {
        let moment = self.progress.moment;
        match mem::take(&mut self.scores) {
            scores if !scores.is_empty() && self.is_evaluated(moment.frames) => Ok(Some(scores)),
            // A run that was complete when it was resumed: the scores have been recorded.
            _ if self.is_evaluated(moment.frames) => self.play(&|| interrupt.is_requested(), telemetry, None),
            _ => self.evaluate(&moment, telemetry, interrupt),
        }
    }

    /// Prints scores beside those of a random player, unless a signal arrives before they are known.
    fn compare(
        &self,
        scores: &mut FinalScores,
        interrupt: &Interrupt,
        printer: &Printer,
        status: &Status,
        table: &mut Vec<u8>,
    ) -> Result<()> {
        if scores.random.is_none() {
            let stop = || interrupt.is_requested();
            let report = |text| status.show_activity(text);
            scores.random = evaluation::evaluate_random_player(&self.builder, &self.plan(&stop, &report))?;
            status.resume_training();
            self.keep(scores, printer);
        }
        let Some(random) = &scores.random else { return Ok(()) };
        evaluation::print_table(&scores.agent, Some(random), self.builder.games(), table)
    }

    /// Writes scores into the directory of the run. They are printed even if that fails.
    fn keep(&self, scores: &FinalScores, printer: &Printer) {
        if let Err(error) = scores.write(&self.directory) {
            printer.warn(&sentence(&error));
        }
    }

    /// Removes the final scores if the run will produce new ones, because it repeats the training or the evaluation
    /// that they come from.
    pub(super) fn discard_stale_scores(&self) -> Result<()> {
        if self.learner.is_complete() && self.experiment.evaluation.episodes == 0 {
            return Ok(());
        }
        let frames = self.progress.moment.frames;
        let is_repeated = self.learner.is_complete() && !self.is_evaluated(frames);
        FinalScores::remove_from(&self.directory, if is_repeated { frames } else { frames + 1 })
    }

    /// Returns the scores of a finished run, as far as they are known: none if its evaluation is still missing.
    pub(super) fn known_scores(&self) -> Option<FinalScores> {
        let frames = self.progress.moment.frames;
        match self.experiment.evaluation.episodes {
            0 => Some(FinalScores { frames, agent: Vec::new(), random: Some(Vec::new()) }),
            _ => FinalScores::read(&self.directory, frames, &self.experiment.games.names()),
        }
    }

    /// Prints the scores of a run that was finished before.
    pub(super) fn repeat_scores(
        &self,
        mut scores: FinalScores,
        interrupt: &Interrupt,
        printer: &Printer,
        output: &OutputOptions,
        out: &mut impl Write,
    ) -> Result<()> {
        let mut table = Vec::new();
        let is_closed = scores.random.is_some();
        let activity = || ProgressLine::of_activity(printer.clone());
        if !scores.agent.is_empty() {
            self.compare(&mut scores, interrupt, printer, &activity().status(), &mut table)
                .context(RuntimeFailure("evaluation failed"))?;
        }
        if !is_closed && scores.random.is_some() {
            let (ends, games) = (FilePositions::ends(), self.experiment.games.tracked());
            let mut telemetry = Telemetry::open(&self.directory, &ends, &games, activity(), false)?;
            telemetry.show(&self.progress.moment, &Media::SessionEnd);
        }
        output.print(&table, printer, out)?;
        self.fail_if_stopped(interrupt)?;
        printer.say(&format!(
            "the run {} is finished: it has trained for all of its {} frames; extend it with `ale-train resume {} \
             --total-frames N`",
            self.directory.display(),
            self.progress.moment.frames,
            quoted(&self.directory)
        ));
        Ok(())
    }
}
