//! The scores at the end of a run.

use std::io::Write;
use std::mem;

use anyhow::{Context, Result};

use super::run::{OutputOptions, Run};
use crate::evaluation;
use crate::failure::{AtWork, sentence};
use crate::interrupt::Interrupt;
use crate::output::quoted;
use crate::scores::FinalScores;
use crate::telemetry::{Printer, ProgressLine, Status, Telemetry};

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
        let moment = self.progress.moment;
        let agent = match mem::take(&mut self.scores) {
            scores if !scores.is_empty() && self.is_evaluated(moment.frames) => Some(scores),
            // A run that was complete when it was resumed: the scores have been recorded.
            _ if self.is_evaluated(moment.frames) && self.changes.is_empty() => {
                self.play(&|| interrupt.is_requested(), telemetry, None)?
            }
            _ => self.evaluate(&moment, telemetry, interrupt)?,
        };
        let Some(agent) = agent else { return Ok(()) };
        let mut scores = FinalScores { frames: moment.frames, agent, random: None };
        self.keep(&scores, printer);
        self.compare(&mut scores, interrupt, printer, telemetry.status(), table)
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
            scores.random = evaluation::of_random_player(&self.builder, &self.plan(&stop, &report))?;
            status.resume_training();
            self.keep(scores, printer);
        }
        let Some(random) = &scores.random else { return Ok(()) };
        evaluation::print_comparison(&scores.agent, random, &self.experiment.games, table)
    }

    /// Writes scores into the directory of the run. They are printed even if that fails.
    fn keep(&self, scores: &FinalScores, printer: &Printer) {
        if let Err(error) = scores.write(&self.directory) {
            printer.warn(&sentence(&error));
        }
    }

    /// Removes final scores that this process is about to replace: of later training, which is repeated, or of the
    /// evaluation of a finished run, whose settings have changed.
    pub(super) fn discard_stale_scores(&self) -> Result<()> {
        if self.learner.is_complete() && self.experiment.evaluation.episodes == 0 {
            return Ok(());
        }
        let frames = self.progress.moment.frames;
        FinalScores::remove_from(
            &self.directory,
            if self.learner.is_complete() { frames } else { frames + 1 },
        )
    }

    /// Returns the scores of a finished run, as far as they are known: none if its evaluation is still missing.
    pub(super) fn known_scores(&self) -> Option<FinalScores> {
        let frames = self.progress.moment.frames;
        match self.experiment.evaluation.episodes {
            0 => Some(FinalScores { frames, agent: Vec::new(), random: Some(Vec::new()) }),
            _ => FinalScores::read(&self.directory, frames),
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
        if !scores.agent.is_empty() {
            let progress_line = ProgressLine::of_activity(printer.clone());
            self.compare(&mut scores, interrupt, printer, &progress_line.status(), &mut table)
                .context(AtWork { doing: "evaluation failed" })?;
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
