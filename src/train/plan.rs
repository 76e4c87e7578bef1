//! The plan of a run, printed before it starts: environments, frames, memory and time.

use algorithms::VectorSpec;
use algorithms::cluster::Cluster;
use anyhow::Result;
use burn::tensor::Device;

use super::game_overrides;
use super::measurement::{Speed, measure};
use super::plan_line::plan_line;
use crate::cluster;
use crate::config::Experiment;
use crate::environments::{Builder, Environments};
use crate::evaluation::environments_of_game;
use crate::interval::times_left;
use crate::learner::{Learner, Trial, Workload};
use crate::memory::{self, Resident};
use crate::output::counted;
use crate::quantity::{bytes, clock, count};
use crate::telemetry::{Forecast, Moment, Printer};

/// The measurement takes at most this fraction of the steps of a run. Shorter runs skip it.
const FRACTION: u64 = 20;
/// The memory of an emulated environment besides its observations.
const ENVIRONMENT: u64 = 150_000;
/// The number of observations of an environment in memory: in its stack, and in the ring of batches.
const OBSERVATIONS: u64 = 4;

/// The parts of a run and its progress.
pub(super) struct Subject<'a> {
    pub(super) experiment: &'a Experiment,
    pub(super) builder: &'a Builder,
    pub(super) learner: &'a dyn Learner,
    pub(super) device: &'a Device,
    pub(super) moment: Moment,
}

/// The memory that a run needs, in bytes.
struct Memory {
    /// The peak of the process.
    peak: u64,
    /// The part of the peak that is not yet in use.
    additional: u64,
    checkpoint: u64,
}

impl Subject<'_> {
    /// Prints the plan. Returns the forecast of the duration, if the run is long enough for a measurement.
    ///
    /// The measurement uses the environments, which are reset or restored afterwards, and a learner of its own. It does
    /// not change the run.
    pub(super) fn present(
        &self,
        environments: &mut dyn Environments,
        printer: &Printer,
        stop: &dyn Fn() -> bool,
    ) -> Result<Option<Forecast>> {
        if matches!(printer, Printer::Silent | Printer::Quiet) {
            return Ok(None);
        }
        for line in self.size().iter().chain(&game_overrides::lines(self.experiment)?) {
            printer.say(line);
        }
        let spec = self.learner.spec();
        let workload = self.experiment.algorithm.workload(spec)?;
        let trial = self.experiment.algorithm.trial(spec);
        let max_steps = self.remaining_steps() / FRACTION;
        // A measurement by one of several processes would not apply to all of them.
        let is_alone = cluster::peers().is_none();
        if !is_alone || self.learner.is_complete() || trial.steps.saturating_mul(2) > max_steps {
            return Ok(None);
        }
        let before = Resident::read();
        let Some(speed) = self.measure(environments, &trial, max_steps, stop)? else { return Ok(None) };
        let memory = before.zip(Resident::read()).map(|(before, after)| {
            let weights: usize =
                self.learner.torch_weights()?.iter().map(|weights| weights.values.len()).sum();
            let values = weights as u64 * workload.values_per_weight;
            let checkpoint = values * size_of::<f32>() as u64 + environments.snapshot()?.len() as u64;
            Ok::<_, anyhow::Error>(self.memory(&workload, &trial, before, after, checkpoint))
        });
        if let Some(memory) = memory.transpose()? {
            self.present_memory(&memory, printer);
        }
        let forecast = self.forecast(&speed, &workload);
        for line in self.time(&speed, &workload, &forecast) {
            printer.say(&line);
        }
        Ok(Some(forecast))
    }

    /// Returns the lines about environments and frames.
    fn size(&self) -> [String; 2] {
        let experiment = self.experiment;
        let names = experiment.games.names();
        let counts: Vec<usize> = names.iter().map(|name| experiment.environments.num_envs_of(name)).collect();
        let (least, most) = (counts.iter().min().unwrap_or(&0), counts.iter().max().unwrap_or(&0));
        let of_each = match names.len() {
            1 => String::new(),
            _ if least == most => format!(", {least} of each game"),
            _ => format!(", {least} to {most} of each game"),
        };
        let threads = counted(self.builder.num_threads(), "thread");
        let total = experiment.final_frames();
        let of_game = match names.len() {
            1 => String::new(),
            games if least == most && !experiment.budgets.has_any_limit() => {
                format!(", {} of each game", count(total / games as u64))
            }
            _ => String::new(),
        };
        let steps = experiment.algorithm.steps_per_update() * experiment.num_envs() as u64;
        let update = format!(", an update every {}", count(steps * experiment.frames_per_step()));
        let update = if experiment.algorithm.is_on_policy() { update.as_str() } else { "" };
        [
            plan_line("environments", &format!("{}{of_each}; {threads}", experiment.num_envs())),
            plan_line("frames", &format!("{}{}{of_game}{update}", count(total), self.request())),
        ]
    }

    /// Returns the number of requested frames, if the last of them would need a part of an update.
    fn request(&self) -> String {
        let [trained, requested] =
            [self.experiment.final_frames(), self.experiment.total_frames()].map(count);
        if trained == requested { String::new() } else { format!(" of the requested {requested}") }
    }

    fn remaining_steps(&self) -> u64 {
        let frames = self.experiment.final_frames().saturating_sub(self.moment.frames);
        frames / self.experiment.frames_per_step()
    }

    fn measure(
        &self,
        environments: &mut dyn Environments,
        trial: &Trial,
        max_steps: u64,
        stop: &dyn Fn() -> bool,
    ) -> Result<Option<Speed>> {
        let (policy, spec) = (self.experiment.policy.clone(), self.learner.spec().clone());
        let (cluster, seed) = (Cluster::default(), self.experiment.run.seed);
        let mut learner = trial.config.create(policy, spec, cluster, self.device, seed)?;
        measure(environments, learner.as_mut(), trial.samples, max_steps, stop)
    }

    /// Returns the memory that the run needs, from the memory before and after a trial and the size of a checkpoint
    /// without experience.
    ///
    /// The peak of the trial has environments, networks, the optimiser and the activations of a minibatch. The
    /// experience is still to come. Evaluations and checkpoints take memory when the activations have been freed.
    fn memory(
        &self,
        workload: &Workload,
        trial: &Trial,
        before: Resident,
        after: Resident,
        checkpoint: u64,
    ) -> Memory {
        let activations = after.peak.saturating_sub(before.now);
        let scale = workload.minibatch as f64 / trial.samples as f64;
        let of_minibatch = (activations as f64 * scale.max(1.0)) as u64;
        let steps = self.experiment.final_frames() / self.experiment.frames_per_step();
        // A resumed run has already loaded the experience of its checkpoint.
        let loaded = workload.experience_after(self.moment.steps).min(workload.in_checkpoint);
        let to_come = workload.experience_after(steps).saturating_sub(loaded);
        let evaluation = self.evaluation_bytes(self.learner.spec());
        // Writing a checkpoint copies everything but the experience.
        let temporary = of_minibatch.max(evaluation).max(2 * checkpoint);
        let peak = before.now + to_come + temporary;
        let checkpoint = checkpoint + workload.in_checkpoint_after(steps);
        Memory { peak: peak.max(after.peak), additional: peak.saturating_sub(after.now), checkpoint }
    }

    fn evaluation_bytes(&self, spec: &VectorSpec) -> u64 {
        let num_envs = environments_of_game(self.experiment.evaluation.episodes);
        num_envs as u64 * (ENVIRONMENT + OBSERVATIONS * spec.observation_space.byte_len() as u64)
    }

    fn present_memory(&self, memory: &Memory, printer: &Printer) {
        let Memory { peak, additional, checkpoint } = *memory;
        let available = memory::available();
        let free = available.map_or_else(String::new, |free| format!(", {} available", bytes(free)));
        let text = format!("about {}{free}; a checkpoint takes {}", bytes(peak), bytes(checkpoint));
        printer.say(&plan_line("memory", &text));
        if available.is_some_and(|available| additional > available) {
            printer.warn(&format!(
                "the run needs about {} more memory, but only {} are available; {}",
                bytes(additional),
                bytes(available.unwrap_or(0)),
                self.experiment.algorithm.memory_remedy()
            ));
        }
    }

    fn forecast(&self, speed: &Speed, workload: &Workload) -> Forecast {
        let frames_per_step = self.experiment.frames_per_step();
        Forecast {
            playing: (speed.acting + speed.environments) / frames_per_step as f64,
            learning: speed.learning * workload.samples_per_step / frames_per_step as f64,
            learning_starts: workload.learning_starts * frames_per_step,
        }
    }

    /// Returns a clause about the evaluations, whose duration is not known before an episode has ended.
    fn evaluations_left(&self) -> String {
        let evaluation = &self.experiment.evaluation;
        let left = |interval| times_left(interval, self.moment.frames, self.experiment.final_frames());
        match (evaluation.episodes, evaluation.interval_frames) {
            (0, _) => String::new(),
            (_, 0) => ", then an evaluation".to_owned(),
            (_, interval) => format!(", and {}", counted(left(interval) as usize, "evaluation")),
        }
    }

    /// Returns the lines about the duration, in which evaluations are not included.
    fn time(&self, speed: &Speed, workload: &Workload, forecast: &Forecast) -> [String; 2] {
        let (frames, total) = (self.moment.frames, self.experiment.final_frames());
        let phases = [
            ("acting", speed.acting),
            ("environments", speed.environments),
            ("learning", speed.learning * workload.samples_per_step),
        ];
        let of_step: f64 = phases.iter().map(|(_, seconds)| seconds).sum();
        let shares = phases.map(|(name, seconds)| format!("{name} {:.0} %", 100.0 * seconds / of_step));
        let evaluations = self.evaluations_left();
        let duration = clock(rounded(forecast.seconds(frames, frames, total)));
        [
            plan_line("time", &format!("about {duration} at {:.0} steps/s{evaluations}", 1.0 / of_step)),
            plan_line("", &format!("({})", shares.join(", "))),
        ]
    }
}

/// Rounds a duration in seconds to about two significant digits, the accuracy of the estimate.
fn rounded(seconds: f64) -> f64 {
    let unit = match seconds {
        36_000.0.. => 1800.0,
        3600.0.. => 300.0,
        600.0.. => 60.0,
        60.0.. => 10.0,
        _ => 1.0,
    };
    (seconds / unit).round() * unit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_rounded_to_about_two_digits() {
        let seconds = [7.3, 284.0, 1261.0, 7_260.0, 33_418.0, 90_000.0];
        assert_eq!(
            seconds.map(rounded).map(clock),
            ["0:07", "4:40", "21:00", "2:00:00", "9:15:00", "25:00:00"]
        );
    }
}
