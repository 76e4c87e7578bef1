//! The adapter for all off-policy algorithms.

use std::fmt;

use algorithms::Learner as _;
use algorithms::cluster::Cluster;
use algorithms::networks::PolicyConfig;
use algorithms::{
    ConfigError, LearnerError, OffPolicyAlgorithm, OffPolicyLearner, Placement, ReplayError, ReplaySize,
    SpecError, VectorSpec,
};
use anyhow::{Error, Result, anyhow};
use burn::tensor::Device;
use toml::{Table, Value};

use super::algorithm::{AlgorithmConfig, Learner, Trial, Workload, section, to_table};
use super::player::Player;
use super::replay_storage::{self, ReplaySettings};
use crate::quantity::{bytes, count};
use crate::telemetry::Sample;

/// The section of the replay in an experiment.
const REPLAY: &str = "replay";
const MEMORY_REMEDY: &str = "use a smaller replay (buffer_size), keep it in a file (replay.folder) or use smaller \
    observations (environments.img_height and img_width)";

/// The number of steps of an environment in the replay of a measurement.
const TRIAL_STEPS: usize = 64;
/// The largest number of gradient steps in a round of a measurement; more would take too long.
const TRIAL_UPDATES: f64 = 4.0;
/// The number of gradient steps between two reports.
const REPORT_INTERVAL: u64 = 250;

/// An off-policy algorithm with the metrics and the evaluation of the application.
pub(super) trait ReplayAlgorithm: OffPolicyAlgorithm<Config: fmt::Debug + Default> + 'static {
    /// The section of the algorithm in an experiment.
    const SECTION: &str;

    /// Returns the number of steps of all environments that training lasts.
    fn total_steps(config: &Self::Config) -> u64;

    /// Returns the sizes of the minibatches.
    fn minibatches(config: &Self::Config) -> Minibatches;

    /// Returns the settings with another number of steps and, for a measurement, other sizes.
    fn resized(config: &Self::Config, total_steps: u64, sizes: Option<TrialSizes>) -> Self::Config;

    /// Returns the number of outputs for each action.
    fn outputs_per_action(_: &Self::Config) -> usize {
        1
    }

    /// Returns the metrics as they are recorded.
    fn samples(learner: &OffPolicyLearner<Self>, metrics: &Self::Metrics) -> Vec<Sample>;

    /// Returns a player for environments like `spec`.
    fn player(
        learner: &OffPolicyLearner<Self>,
        spec: &VectorSpec,
        greedy: bool,
        seed: u64,
    ) -> Result<Box<dyn Player>, SpecError>;
}

/// The sections of an experiment with a replay.
pub(super) struct ReplaySections<A: ReplayAlgorithm> {
    config: A::Config,
    replay: ReplaySettings,
}

impl<A: ReplayAlgorithm> fmt::Debug for ReplaySections<A> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct(A::SECTION).field("config", &self.config).field(REPLAY, &self.replay).finish()
    }
}

impl<A: ReplayAlgorithm> ReplaySections<A> {
    /// Reads the sections from an experiment.
    pub(super) fn read(experiment: &Table) -> Result<Box<dyn AlgorithmConfig>> {
        Ok(Box::new(Self::of(experiment)?))
    }

    /// Reads the sections, for an algorithm that chooses between several.
    pub(super) fn of(experiment: &Table) -> Result<Self> {
        Ok(Self { config: section(experiment, A::SECTION)?, replay: section(experiment, REPLAY)? })
    }

    fn boxed(&self, mut learner: OffPolicyLearner<A>) -> Box<dyn Learner> {
        learner.set_replay_in_state(self.replay.in_checkpoint);
        Box::new(learner)
    }

    fn placement(&self, spec: &VectorSpec, cluster: Cluster) -> Result<Placement> {
        let size = OffPolicyLearner::<A>::replay_size(&self.config, spec, &cluster)?;
        Ok(Placement { storage: replay_storage::of(&self.replay, size)?, cluster })
    }
}

impl<A: ReplayAlgorithm> AlgorithmConfig for ReplaySections<A> {
    fn to_toml(&self) -> Result<Table> {
        let config = (A::SECTION.to_owned(), Value::Table(to_table(&self.config)?));
        Ok(Table::from_iter([config, (REPLAY.to_owned(), Value::Table(to_table(&self.replay)?))]))
    }

    fn steps_per_update(&self) -> u64 {
        1
    }

    fn is_on_policy(&self) -> bool {
        false
    }

    fn total_steps(&self) -> u64 {
        A::total_steps(&self.config)
    }

    fn learning_starts(&self) -> u64 {
        A::minibatches(&self.config).learning_starts as u64
    }

    fn set_total_steps(&mut self, total_steps: u64) {
        self.config = A::resized(&self.config, total_steps, None);
    }

    fn validate(&self, policy: &PolicyConfig, num_envs: usize) -> Result<(), ConfigError> {
        A::validate(&self.config, policy, num_envs)
    }

    fn outputs_per_action(&self) -> usize {
        A::outputs_per_action(&self.config)
    }

    fn workload(&self, spec: &VectorSpec) -> Result<Workload> {
        let size = OffPolicyLearner::<A>::replay_size(&self.config, spec, &Cluster::default())?;
        Ok(A::minibatches(&self.config).workload(size, &self.replay))
    }

    fn trial(&self, spec: &VectorSpec) -> Trial {
        let minibatches = A::minibatches(&self.config);
        let sizes = minibatches.trial(spec);
        let (samples, steps) = (minibatches.batch_size, sizes.learning_starts as u64);
        let config = A::resized(&self.config, u64::MAX, Some(sizes));
        let replay = ReplaySettings { folder: None, ..self.replay.clone() };
        Trial { config: Box::new(Self { config, replay }), samples, steps }
    }

    fn memory_remedy(&self) -> &'static str {
        MEMORY_REMEDY
    }

    fn create(
        &self,
        policy: PolicyConfig,
        spec: VectorSpec,
        cluster: Cluster,
        device: &Device,
        seed: u64,
    ) -> Result<Box<dyn Learner>> {
        let placement = self.placement(&spec, cluster)?;
        let learner =
            OffPolicyLearner::in_cluster(self.config.clone(), policy, spec, placement, device, seed);
        Ok(self.boxed(learner?))
    }

    fn restore(
        &self,
        state: &[u8],
        policy: PolicyConfig,
        spec: &VectorSpec,
        cluster: Cluster,
        device: &Device,
    ) -> Result<Box<dyn Learner>> {
        let placement = self.placement(spec, cluster)?;
        let learner =
            OffPolicyLearner::from_state_with(state, self.config.clone(), policy, placement, device);
        Ok(self.boxed(learner.map_err(with_remedy)?))
    }

    fn restore_to_act(&self, state: &[u8], device: &Device) -> Result<Box<dyn Learner>> {
        Ok(self.boxed(OffPolicyLearner::from_state_without_replay(state, device)?))
    }
}

impl<A: ReplayAlgorithm> Learner for OffPolicyLearner<A> {
    /// Reports every `REPORT_INTERVAL` updates.
    fn update_unless(&mut self, stop: &dyn Fn() -> bool) -> Result<Option<Vec<Sample>>, LearnerError> {
        let before = self.updates();
        let Some(metrics) = self.update_unless(stop)? else { return Ok(None) };
        // Depends only on the count, so that a resumed run reports after the same updates.
        let reports = before == 0 || before / REPORT_INTERVAL < self.updates() / REPORT_INTERVAL;
        Ok(Some(if reports { A::samples(self, &metrics) } else { Vec::new() }))
    }

    fn player(&self, spec: &VectorSpec, greedy: bool, seed: u64) -> Result<Box<dyn Player>, SpecError> {
        A::player(self, spec, greedy, seed)
    }
}

/// Explains the error of a replay that does not fit into memory beside the state from which it is restored. Its size
/// cannot change.
fn with_remedy(error: LearnerError) -> Error {
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
