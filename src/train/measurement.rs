//! A short measurement of the speed of training, before it starts.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rl_env::ResetSeeds;

use super::clock::Phases;
use super::collection::Collection;
use crate::environments::Environments;
use crate::learner::Learner;

/// The maximum duration of the measurement, unless its first cycles take longer.
const DURATION: Duration = Duration::from_secs(3);

/// Seconds of the phases of training.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Speed {
    /// Seconds of acting for a step of one environment.
    pub(super) acting: f64,
    /// Seconds in the environments for a step of one of them.
    pub(super) environments: f64,
    /// Seconds of learning for a sample.
    pub(super) learning: f64,
}

/// Trains a throw-away learner for a few cycles of collection and update. Resets the environments first and leaves them
/// in an arbitrary state. `samples` is the number of samples that an update learns from, `max_steps` the number of
/// steps after which no cycle starts. Returns nothing if `stop` ends the measurement.
pub(super) fn measure(
    environments: &mut dyn Environments,
    learner: &mut dyn Learner,
    samples: usize,
    max_steps: u64,
    stop: &dyn Fn() -> bool,
) -> Result<Option<Speed>> {
    environments.reset(ResetSeeds::From(0))?;
    let mut collection = Collection::begin(environments)?;
    let (began, mut total_steps) = (Instant::now(), 0);
    let mut first: Option<Cycle> = None;
    let mut later = Cycle::default();
    loop {
        let started = Instant::now();
        let Some(cycle) = cycle(environments, learner, &mut collection, samples, stop)? else {
            return Ok(None);
        };
        total_steps += cycle.steps;
        // The first cycle allocates memory and starts threads.
        if first.is_some() {
            later.add(&cycle);
        } else {
            first = Some(cycle);
        }
        if began.elapsed() + started.elapsed() > DURATION || total_steps >= max_steps {
            break;
        }
    }
    let first = first.context("a measurement has a cycle")?;
    Ok(Some(if later.steps > 0 { later.speed() } else { first.speed() }))
}

/// The amount of work in some cycles.
#[derive(Default)]
struct Cycle {
    phases: Phases,
    steps: u64,
    samples: u64,
}

impl Cycle {
    fn add(&mut self, other: &Self) {
        self.phases.acting += other.phases.acting;
        self.phases.environments += other.phases.environments;
        self.phases.learning += other.phases.learning;
        self.steps += other.steps;
        self.samples += other.samples;
    }

    fn speed(&self) -> Speed {
        let per_item = |phase: Duration, count: u64| phase.as_secs_f64() / count.max(1) as f64;
        Speed {
            acting: per_item(self.phases.acting, self.steps),
            environments: per_item(self.phases.environments, self.steps),
            learning: per_item(self.phases.learning, self.samples),
        }
    }
}

/// Steps the environments until an update is due, and updates.
fn cycle(
    environments: &mut dyn Environments,
    learner: &mut dyn Learner,
    collection: &mut Collection,
    samples: usize,
    stop: &dyn Fn() -> bool,
) -> Result<Option<Cycle>> {
    let mut cycle = Cycle::default();
    while !learner.is_ready() {
        if stop() {
            return Ok(None);
        }
        if let Some(batch) = collection.step(environments, learner, &mut cycle.phases, false)? {
            cycle.steps += batch.env_ids.len() as u64;
        }
    }
    let (began, before) = (Instant::now(), learner.updates());
    if learner.update_unless(stop)?.is_none() {
        return Ok(None);
    }
    cycle.phases.learning = began.elapsed();
    cycle.samples = (learner.updates() - before) * samples as u64;
    Ok(Some(cycle))
}
