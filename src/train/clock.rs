use std::mem;
use std::time::{Duration, Instant};

use rl_env::Batch;

use super::tally::{Log, Tally};
use crate::telemetry::{Metric, Moment, Sample};

/// Counts the steps, frames and seconds of a run.
pub(super) struct Clock {
    pub(super) moment: Moment,
    frames_per_step: u64,
    /// The time when this process started or resumed the run, plus the excluded time.
    started: Instant,
    /// The progress of the run at that time.
    beginning: Moment,
    pub(super) phases: Phases,
}

/// The time since the last report of the learner, by phase.
#[derive(Default)]
pub(super) struct Phases {
    /// Time of inference and of observing batches.
    pub(super) acting: Duration,
    pub(super) environments: Duration,
    pub(super) learning: Duration,
}

impl Phases {
    /// Returns the times in seconds and resets them.
    pub(super) fn take_samples(&mut self) -> [Sample; 3] {
        let Self { acting, environments, learning } = mem::take(self);
        [
            Sample::new(Metric::ActingTime, acting.as_secs_f64()),
            Sample::new(Metric::EnvironmentTime, environments.as_secs_f64()),
            Sample::new(Metric::LearningTime, learning.as_secs_f64()),
        ]
    }
}

impl Clock {
    /// Returns a clock that starts now, at the progress of `beginning`.
    pub(super) fn new(beginning: Moment, frames_per_step: u64) -> Self {
        Self {
            moment: beginning,
            frames_per_step,
            started: Instant::now(),
            beginning,
            phases: Phases::default(),
        }
    }

    /// Counts a batch and returns the samples of the episodes that ended in it.
    pub(super) fn count(&mut self, tally: &mut Tally, batch: &Batch) -> Vec<Sample> {
        let (steps, samples) = tally.observe(batch);
        self.advance(steps);
        samples
    }

    /// Counts the batches of a log and returns the samples of the episodes that ended in them.
    pub(super) fn count_log(&mut self, tally: &mut Tally, log: &Log) -> Vec<Sample> {
        let (steps, samples) = tally.count(log);
        self.advance(steps);
        samples
    }

    fn advance(&mut self, steps: u64) {
        self.moment.steps += steps;
        self.moment.frames += steps * self.frames_per_step;
        self.moment.seconds = self.beginning.seconds + self.started.elapsed().as_secs_f64();
    }

    /// Excludes time that was not spent on training.
    pub(super) fn leave_out(&mut self, time: Duration) {
        self.started += time;
    }

    /// Returns the speed and the number of frames.
    pub(super) fn samples(&mut self) -> [Sample; 2] {
        let seconds = self.started.elapsed().as_secs_f64();
        self.moment.seconds = self.beginning.seconds + seconds;
        let steps = self.moment.steps - self.beginning.steps;
        [
            Sample::new(Metric::Sps, steps as f64 / seconds),
            Sample::new(Metric::Frames, self.moment.frames as f64),
        ]
    }
}
