use std::io::Write;
use std::mem;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rl_env::{Actions, Batch, ResetSeeds, VectorEnv};

use super::tally::Tally;
use crate::checkpoint::{Checkpoint, Keeper, Progress};
use crate::config::Experiment;
use crate::environments::Builder;
use crate::evaluation::{self, Agent};
use crate::failure::{AtWork, Interrupted, sentence};
use crate::interrupt::Interrupt;
use crate::learner::Learner;
use crate::telemetry::{Console, Metric, Moment, Printer, Record, Sample, Telemetry};

/// Where the environments of a run begin.
pub(super) enum Beginning {
    /// At their first episodes.
    Fresh,
    /// Where a checkpoint left them.
    Restored(Vec<u8>),
}

/// A run that is ready to go.
pub(super) struct Run {
    pub(super) experiment: Experiment,
    pub(super) folder: PathBuf,
    pub(super) builder: Builder,
    pub(super) environments: Box<dyn VectorEnv>,
    pub(super) learner: Box<dyn Learner>,
    pub(super) beginning: Beginning,
    pub(super) progress: Progress,
}

impl Run {
    /// Trains, writes a checkpoint, and evaluates unless a signal ended the training.
    pub(super) fn execute(mut self, quiet: bool, out: &mut impl Write) -> Result<()> {
        let printer = Printer::new(quiet);
        let interrupt = Interrupt::listen(printer.clone())?;
        let mut keeper = self.keeper()?;
        self.announce(&printer);
        let console =
            Console::new(printer.clone(), self.progress.moment.frames, self.experiment.total_frames);
        let mut telemetry = Telemetry::open(&self.folder, &self.progress.telemetry, console)?;
        self.train(&mut telemetry, &mut keeper, &interrupt, &printer)
            .context(AtWork { doing: "the training failed" })?;
        if self.learner.is_complete() {
            self.evaluate(&mut telemetry, &interrupt, out)
                .context(AtWork { doing: "the evaluation failed" })?;
        }
        drop(telemetry);
        if interrupt.is_requested() {
            return Err(Interrupted { run_dir: self.folder.display().to_string() }.into());
        }
        printer.say(&format!("the run is in {}", self.folder.display()));
        Ok(())
    }

    fn announce(&self, printer: &Printer) {
        let experiment = &self.experiment;
        let games = experiment.games.names();
        let games = if games.len() > 6 { format!("{} games", games.len()) } else { games.join(", ") };
        printer.say(&format!(
            "{} on {games}: {} environments, {} threads, seed {}, run folder {}",
            experiment.algorithm.title(),
            experiment.num_envs(),
            experiment.num_threads,
            experiment.seed,
            self.folder.display()
        ));
    }

    fn keeper(&self) -> Result<Keeper> {
        let saved = matches!(self.beginning, Beginning::Restored(_)).then_some(self.learner.updates());
        Keeper::new(&self.folder, &self.experiment.checkpoints, self.progress.moment.frames, saved)
    }

    /// Updates until the budget is used up or a signal comes, with checkpoints on the way and at the end.
    fn train(
        &mut self,
        telemetry: &mut Telemetry,
        keeper: &mut Keeper,
        interrupt: &Interrupt,
        printer: &Printer,
    ) -> Result<()> {
        if self.learner.is_complete() {
            return Ok(());
        }
        let mut clock = Clock::new(self.progress.moment, self.experiment.frames_per_step());
        let mut tally = Tally::new(
            self.environments.tasks(),
            self.environments.task_ids(),
            &self.progress.recent_returns,
        );
        self.begin()?;
        let is_over = |learner: &dyn Learner| {
            learner.is_complete() || (interrupt.is_requested() && learner.is_resting())
        };
        while !is_over(self.learner.as_ref()) {
            self.step(&mut clock, &mut tally, telemetry)?;
            if !self.learner.is_ready() {
                continue;
            }
            let mut samples = self.update(&mut clock)?;
            if !samples.is_empty() {
                samples.extend(clock.samples());
                samples.extend(clock.phases.take_samples());
                samples.extend(tally.recent_samples());
                telemetry.record(&Record { moment: clock.moment, samples });
                telemetry.flush();
            }
            if keeper.is_due(clock.moment.frames) {
                self.note_progress(&clock, &tally, telemetry);
                // A full disk may have room again the next time.
                if let Err(error) = self.save(keeper) {
                    printer.warn(&format!("{}; the training goes on", sentence(&error)));
                }
            }
        }
        self.note_progress(&clock, &tally, telemetry);
        if keeper.has(self.learner.updates()) { Ok(()) } else { self.save(keeper) }
    }

    /// Lets the environments begin.
    fn begin(&mut self) -> Result<()> {
        match &self.beginning {
            Beginning::Fresh => self.environments.reset(ResetSeeds::From(self.experiment.seed))?,
            Beginning::Restored(snapshot) => self.environments.restore(snapshot)?,
        };
        Ok(())
    }

    /// One step of every environment.
    fn step(&mut self, clock: &mut Clock, tally: &mut Tally, telemetry: &mut Telemetry) -> Result<()> {
        let began = Instant::now();
        let actions = self.learner.act(self.environments.batch())?;
        let acted = Instant::now();
        let batch = self.environments.step(Actions::Discrete(actions))?;
        let stepped = Instant::now();
        self.learner.observe(batch)?;
        clock.phases.environments += stepped - acted;
        clock.phases.acting += (acted - began) + stepped.elapsed();
        let samples = clock.count(tally, batch);
        if !samples.is_empty() {
            telemetry.record(&Record { moment: clock.moment, samples });
        }
        Ok(())
    }

    /// Learns, and returns what the learner reports.
    fn update(&mut self, clock: &mut Clock) -> Result<Vec<Sample>> {
        let began = Instant::now();
        let samples = self.learner.update()?;
        clock.phases.learning += began.elapsed();
        clock.moment.updates = self.learner.updates();
        Ok(samples)
    }

    fn note_progress(&mut self, clock: &Clock, tally: &Tally, telemetry: &mut Telemetry) {
        self.progress = Progress {
            moment: clock.moment,
            recent_returns: tally.recent_returns(),
            score: tally.score(&self.experiment.games),
            telemetry: telemetry.positions(),
        };
    }

    fn save(&self, keeper: &mut Keeper) -> Result<()> {
        keeper.keep(Checkpoint {
            config: self.experiment.to_toml()?,
            progress: self.progress.clone(),
            learner: self.learner.state()?,
            environments: self.environments.snapshot()?,
        })
    }

    /// Lets the agent and a random player play, and prints how they did.
    fn evaluate(&self, telemetry: &mut Telemetry, interrupt: &Interrupt, out: &mut impl Write) -> Result<()> {
        let episodes = self.experiment.evaluation_episodes;
        if episodes == 0 {
            return Ok(());
        }
        let stop = || interrupt.is_requested();
        // Other episodes than those of the training.
        let seed = self.experiment.seed.wrapping_add(evaluation::SEED_DISTANCE);
        let agent = Agent { learner: self.learner.as_ref(), greedy: false };
        let agent = evaluation::of_agent(&self.builder, &agent, episodes, seed, &stop)?;
        let random = evaluation::of_random_player(&self.builder, episodes, seed, &stop)?;
        let (Some(agent), Some(random)) = (agent, random) else { return Ok(()) };
        let several = agent.len() > 1;
        let sample = |scores: &evaluation::Scores| {
            if several {
                Sample::of_task(Metric::EvaluationReturn, &scores.task, scores.mean())
            } else {
                Sample::new(Metric::EvaluationReturn, scores.mean())
            }
        };
        telemetry
            .record(&Record { moment: self.progress.moment, samples: agent.iter().map(sample).collect() });
        telemetry.flush();
        evaluation::print_comparison(&agent, &random, &self.experiment.games, out)
    }
}

/// Counts steps, frames and seconds.
struct Clock {
    moment: Moment,
    frames_per_step: u64,
    /// When this process took the run up, and where.
    started: Instant,
    beginning: Moment,
    phases: Phases,
}

/// What the time since the last update was spent on.
#[derive(Default)]
struct Phases {
    /// Choosing actions, and judging what came of them.
    acting: Duration,
    environments: Duration,
    learning: Duration,
}

impl Phases {
    /// The times in seconds, which begin anew.
    fn take_samples(&mut self) -> [Sample; 3] {
        let Self { acting, environments, learning } = mem::take(self);
        [
            Sample::new(Metric::ActingTime, acting.as_secs_f64()),
            Sample::new(Metric::EnvironmentTime, environments.as_secs_f64()),
            Sample::new(Metric::LearningTime, learning.as_secs_f64()),
        ]
    }
}

impl Clock {
    fn new(beginning: Moment, frames_per_step: u64) -> Self {
        Self {
            moment: beginning,
            frames_per_step,
            started: Instant::now(),
            beginning,
            phases: Phases::default(),
        }
    }

    /// Counts a batch and returns what its ended episodes report.
    fn count(&mut self, tally: &mut Tally, batch: &Batch) -> Vec<Sample> {
        let (steps, samples) = tally.observe(batch);
        self.moment.steps += steps;
        self.moment.frames += steps * self.frames_per_step;
        self.moment.seconds = self.beginning.seconds + self.started.elapsed().as_secs_f64();
        samples
    }

    fn samples(&mut self) -> [Sample; 2] {
        let seconds = self.started.elapsed().as_secs_f64();
        self.moment.seconds = self.beginning.seconds + seconds;
        let steps = self.moment.steps - self.beginning.steps;
        [
            Sample::new(Metric::Sps, steps as f64 / seconds),
            Sample::new(Metric::Frames, self.moment.frames as f64),
        ]
    }
}
