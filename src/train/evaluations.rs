//! Evaluations during training.

use std::time::Instant;

use anyhow::Result;

use super::clock::Clock;
use super::run::Run;
use crate::checkpoint::Evaluated;
use crate::evaluation::{self, Agent, Plan, Spectator};
use crate::interrupt::Interrupt;
use crate::interval::Interval;
use crate::scores::Scores;
use crate::telemetry::{Metric, Moment, Record, Sample, Telemetry};

impl Run {
    /// Returns the times of evaluations during training, starting after the newest evaluation of the run.
    pub(super) fn evaluations(&self) -> Interval {
        let evaluated = self.progress.evaluation.as_ref().map_or(0, |evaluation| evaluation.frames);
        let settings = &self.experiment.evaluation;
        Interval::new(if settings.episodes > 0 { settings.interval_frames } else { 0 }, evaluated)
    }

    /// Evaluates the agent if an evaluation is due, also at the end of a training with regular evaluations. Returns
    /// true if it was evaluated.
    pub(super) fn evaluate_if_due(
        &mut self,
        evaluations: &mut Interval,
        clock: &mut Clock,
        telemetry: &mut Telemetry,
        interrupt: &Interrupt,
    ) -> Result<bool> {
        let frames = clock.moment.frames;
        let closes = evaluations.is_used() && self.learner.is_complete() && !self.is_evaluated(frames);
        if !closes && !evaluations.is_due(frames) {
            return Ok(false);
        }
        let began = Instant::now();
        let Some(scores) = self.evaluate(&clock.moment, telemetry, interrupt)? else { return Ok(false) };
        clock.leave_out(began.elapsed());
        evaluations.pass(frames);
        let means = scores.iter().map(|scores| (scores.task.as_str(), scores.mean()));
        let score = self.experiment.games.score(means.clone());
        self.progress.evaluation =
            Some(Evaluated { frames, score, returns: means.map(|(_, mean)| mean).collect() });
        self.scores = scores;
        Ok(true)
    }

    /// Returns true if the newest evaluation took place after `frames` frames.
    pub(super) fn is_evaluated(&self, frames: u64) -> bool {
        self.progress.evaluation.as_ref().is_some_and(|evaluation| evaluation.frames == frames)
    }

    /// Returns true if only the closing scores are left: the budget is used up, and the last of the regular evaluations
    /// is complete.
    pub(super) fn is_finished(&self) -> bool {
        let is_evaluated = !self.evaluations().is_used() || self.is_evaluated(self.progress.moment.frames);
        self.learner.is_complete() && is_evaluated
    }

    /// Evaluates the agent and records the scores. Returns nothing if a signal arrives before the end.
    pub(super) fn evaluate(
        &self,
        moment: &Moment,
        telemetry: &mut Telemetry,
        interrupt: &Interrupt,
    ) -> Result<Option<Vec<Scores>>> {
        let began = Instant::now();
        let mut spectator = Spectator::default();
        let stop = || interrupt.is_requested();
        let Some(scores) = self.play(&stop, telemetry, Some(&mut spectator))? else { return Ok(None) };
        let mut samples = evaluation::samples(&scores, &self.experiment.games);
        samples.push(Sample::new(Metric::EvaluationTime, began.elapsed().as_secs_f64()));
        telemetry.record(&Record { moment: *moment, samples });
        for media in evaluation::returns(&scores).into_iter().chain(spectator.media()) {
            telemetry.show(moment, &media);
        }
        telemetry.flush();
        Ok(Some(scores))
    }

    /// Returns the agent's scores in the episodes of every evaluation of the run.
    pub(super) fn play(
        &self,
        stop: &dyn Fn() -> bool,
        telemetry: &Telemetry,
        spectator: Option<&mut Spectator>,
    ) -> Result<Option<Vec<Scores>>> {
        let agent = Agent { learner: self.learner.as_ref(), greedy: self.experiment.evaluation.greedy };
        let report = |text| telemetry.status().show_activity(text);
        let scores = evaluation::evaluate_agent(&self.builder, &agent, &self.plan(stop, &report), spectator);
        telemetry.status().resume_training();
        scores
    }

    /// Returns a plan whose episodes differ from those of training and are the same in every evaluation.
    pub(super) fn plan<'a>(&self, stop: &'a dyn Fn() -> bool, report: &'a dyn Fn(String)) -> Plan<'a> {
        let seed = self.experiment.run.seed.wrapping_add(evaluation::SEED_DISTANCE);
        Plan { episodes: self.experiment.evaluation.episodes, seed, stop, report }
    }
}
