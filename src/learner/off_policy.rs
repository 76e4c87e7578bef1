//! The parts that learners with a replay share.

use std::io::Write;

use algorithms::networks::{NamedWeights, NetworkDescription, TrainedNetwork, TransferError, Transferred};
use algorithms::{LearnerError, ReplayError, ReplaySize, SpecError, VectorSpec};
use anyhow::{Error, anyhow};
use rl_env::{Actions, Batch};

use super::algorithm::{Learner, Workload};
use super::player::Player;
use super::replay_storage::ReplaySettings;
use crate::quantity::{bytes, count};
use crate::telemetry::Sample;

pub(super) const MEMORY_REMEDY: &str = "use a smaller replay (buffer_size), keep it in a file (replay.folder) or use smaller \
    observations (environments.img_height and img_width)";

/// The number of steps of an environment in the replay of a measurement.
const TRIAL_STEPS: usize = 64;
/// The largest number of gradient steps in a round of a measurement; more would take too long.
const TRIAL_UPDATES: f64 = 4.0;
/// The number of gradient steps between two reports.
const REPORT_INTERVAL: u64 = 250;

/// A learner of `algorithms` with a replay.
pub(super) trait ReplayLearner: algorithms::Learner {
    type Metrics;

    /// Writes the state without the replay.
    fn write_state_without_replay(&self, out: &mut dyn Write) -> Result<(), LearnerError>;

    /// Makes the gradient steps that are due, unless `stop` ends them.
    fn learn_unless(&mut self, stop: &dyn Fn() -> bool) -> Result<Option<Self::Metrics>, LearnerError>;

    /// Returns the metrics as they are recorded.
    fn samples(&self, metrics: &Self::Metrics) -> Vec<Sample>;

    /// Returns a player for environments like `spec`.
    fn player(&self, spec: &VectorSpec, greedy: bool, seed: u64) -> Result<Box<dyn Player>, SpecError>;
}

/// A learner with a replay, which reports every `REPORT_INTERVAL` updates and may omit its replay from checkpoints.
pub(super) struct OffPolicy<L> {
    pub(super) learner: L,
    pub(super) replay_in_checkpoint: bool,
}

impl<L: ReplayLearner> algorithms::Learner for OffPolicy<L> {
    fn spec(&self) -> &VectorSpec {
        self.learner.spec()
    }

    fn act(&mut self, batch: &Batch) -> Result<Actions<'_>, LearnerError> {
        self.learner.act(batch)
    }

    fn observe(&mut self, batch: &Batch) -> Result<(), LearnerError> {
        self.learner.observe(batch)
    }

    fn can_act(&self, batch: &Batch) -> bool {
        self.learner.can_act(batch)
    }

    fn is_ready(&self) -> bool {
        self.learner.is_ready()
    }

    fn updates(&self) -> u64 {
        self.learner.updates()
    }

    fn is_complete(&self) -> bool {
        self.learner.is_complete()
    }

    fn is_idle(&self) -> bool {
        self.learner.is_idle()
    }

    fn write_state(&self, out: &mut dyn Write) -> Result<(), LearnerError> {
        if self.replay_in_checkpoint {
            self.learner.write_state(out)
        } else {
            self.learner.write_state_without_replay(out)
        }
    }

    fn torch_weights(&self) -> Result<Vec<NamedWeights>, LearnerError> {
        self.learner.torch_weights()
    }

    fn description(&self) -> NetworkDescription {
        self.learner.description()
    }

    fn start_from(&mut self, source: &TrainedNetwork) -> Result<Transferred, TransferError> {
        self.learner.start_from(source)
    }
}

impl<L: ReplayLearner> Learner for OffPolicy<L> {
    fn update_unless(&mut self, stop: &dyn Fn() -> bool) -> Result<Option<Vec<Sample>>, LearnerError> {
        let before = self.learner.updates();
        let Some(metrics) = self.learner.learn_unless(stop)? else { return Ok(None) };
        // Depends only on the count, so that a resumed run reports after the same updates.
        let reports = before == 0 || before / REPORT_INTERVAL < self.learner.updates() / REPORT_INTERVAL;
        Ok(Some(if reports { self.learner.samples(&metrics) } else { Vec::new() }))
    }

    fn player(&self, spec: &VectorSpec, greedy: bool, seed: u64) -> Result<Box<dyn Player>, SpecError> {
        self.learner.player(spec, greedy, seed)
    }
}

/// Explains the error of a replay that does not fit into memory beside the state from which it is restored. Its size cannot
/// change.
pub(super) fn with_remedy(error: LearnerError) -> Error {
    match error {
        LearnerError::Replay(ReplayError::TooLarge { steps, wanted, available }) => anyhow!(
            "restoring the replay buffer of {} steps needs {} in addition to the checkpoint, but only {} are available; \
             to keep it in a file, add --set replay.folder=DIRECTORY",
            count(steps),
            bytes(wanted),
            bytes(available)
        ),
        other => other.into(),
    }
}

/// The sizes of the minibatches of a learner with a replay, and how often it learns from one.
pub(super) struct Minibatches {
    pub(super) batch_size: usize,
    pub(super) n_step: usize,
    pub(super) learning_starts: usize,
    pub(super) train_ratio: f64,
}

/// The settings of a measurement that differ from those of training.
pub(super) struct TrialSizes {
    pub(super) learning_starts: usize,
    pub(super) buffer_size: usize,
    pub(super) train_ratio: f64,
}

impl Minibatches {
    /// Returns the amount of learning with a replay of `size`, stored according to `replay`.
    pub(super) fn workload(&self, size: ReplaySize, replay: &ReplaySettings) -> Workload {
        let in_memory = if replay.folder.is_some() { 0 } else { size.storage_bytes };
        let stored = size.frame_bytes.saturating_add(size.index_bytes);
        Workload {
            samples_per_step: self.train_ratio * self.batch_size as f64,
            minibatch: self.batch_size,
            learning_starts: self.learning_starts as u64,
            experience: in_memory.saturating_add(size.index_bytes),
            capacity: size.steps,
            in_checkpoint: if replay.in_checkpoint { stored } else { 0 },
            values_per_weight: 4,
        }
    }

    /// Returns sizes for the environments of `spec` with which few steps lead to an update.
    pub(super) fn trial(&self, spec: &VectorSpec) -> TrialSizes {
        let num_envs = spec.num_envs();
        let of_task = |task: usize| spec.task_ids.iter().filter(|&&id| id == task).count();
        let most = (0..spec.tasks.len()).map(of_task).max().unwrap_or(1);
        let learning_starts = self.batch_size.max(num_envs * (self.n_step + 2));
        TrialSizes {
            learning_starts,
            // Every game has an equal share, which its environments divide.
            buffer_size: (spec.tasks.len() * most * TRIAL_STEPS.max(self.n_step + 2)).max(learning_starts),
            train_ratio: self.train_ratio.min(TRIAL_UPDATES / num_envs as f64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replay_that_is_too_large_to_restore_has_a_remedy() {
        let message = |error: LearnerError| format!("{:#}", with_remedy(error));
        let too_large =
            ReplayError::TooLarge { steps: 2_000_000, wanted: 8_000_000_000, available: 7_000_000_000 };
        assert_eq!(
            message(too_large.into()),
            "restoring the replay buffer of 2M steps needs 8.0 GB in addition to the checkpoint, but only 7.0 GB are available; \
             to keep it in a file, add --set replay.folder=DIRECTORY"
        );
        let share = ReplayError::SmallShare { buffer_size: 4, share: 1, task: "pong".to_owned(), least: 2 };
        assert_eq!(message(share.clone().into()), share.to_string());
    }
}
