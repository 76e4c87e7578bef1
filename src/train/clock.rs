use std::mem;
use std::time::{Duration, Instant};

use rl_env::Batch;

use super::tally::Tally;
use crate::telemetry::{Metric, Moment, Sample};

/// Counts steps, frames and seconds.
pub(super) struct Clock {
    pub(super) moment: Moment,
    frames_per_step: u64,
    /// When this process took the run up, and where.
    started: Instant,
    beginning: Moment,
    pub(super) phases: Phases,
}

/// What the time since the last update was spent on.
#[derive(Default)]
pub(super) struct Phases {
    /// Choosing actions, and judging what came of them.
    pub(super) acting: Duration,
    pub(super) environments: Duration,
    pub(super) learning: Duration,
}

impl Phases {
    /// The times in seconds, which begin anew.
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
    /// A clock of a run that has come so far.
    pub(super) fn new(beginning: Moment, frames_per_step: u64) -> Self {
        Self {
            moment: beginning,
            frames_per_step,
            started: Instant::now(),
            beginning,
            phases: Phases::default(),
        }
    }

    /// Counts a batch and returns what its ended episodes report.
    pub(super) fn count(&mut self, tally: &mut Tally, batch: &Batch) -> Vec<Sample> {
        let (steps, samples) = tally.observe(batch);
        self.moment.steps += steps;
        self.moment.frames += steps * self.frames_per_step;
        self.moment.seconds = self.beginning.seconds + self.started.elapsed().as_secs_f64();
        samples
    }

    /// Leaves time out that was not spent on training.
    pub(super) fn leave_out(&mut self, time: Duration) {
        self.started += time;
    }

    /// The figures of the moment.
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
