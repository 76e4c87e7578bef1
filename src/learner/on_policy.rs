//! The adapter for all on-policy algorithms.

use std::fmt;

use algorithms::cluster::Cluster;
use algorithms::networks::PolicyConfig;
use algorithms::{
    ConfigError, LearnerError, OnPolicyAlgorithm, OnPolicyLearner, RolloutPlan, SpecError, VectorSpec,
};
use anyhow::Result;
use burn::tensor::Device;
use toml::{Table, Value};

use super::algorithm::{AlgorithmConfig, Learner, Trial, Workload, section, to_table};
use super::player::Player;
use crate::telemetry::Sample;

/// The largest number of samples of a minibatch in a measurement; a larger one would take too long.
const TRIAL_SAMPLES: usize = 1024;
/// The bytes of a step in a rollout besides its observation.
const STEP: usize = 32;

const MEMORY_REMEDY: &str = "use fewer environments (--num-envs), shorter rollouts (num_steps), more minibatches \
    (num_minibatches) or smaller observations (environments.img_height and img_width)";

/// An on-policy algorithm with the metrics and the evaluation of the application.
pub(super) trait RolloutAlgorithm: OnPolicyAlgorithm<Config: fmt::Debug + Default> + 'static {
    /// The section of the algorithm in an experiment.
    const SECTION: &str;

    /// Returns the settings with another number of steps.
    fn with_total_steps(config: &Self::Config, total_steps: u64) -> Self::Config;

    /// Returns the settings of an endless measurement: one epoch of one minibatch, a rollout of `num_steps` steps.
    fn for_trial(config: &Self::Config, num_steps: usize) -> Self::Config;

    /// Returns true if the change of a value in an update is clipped, in units of rewards.
    fn clips_values(_: &Self::Config) -> bool {
        false
    }

    /// Returns true if the next rollout is collected during an update.
    fn overlaps(_: &Self::Config) -> bool {
        false
    }

    /// Returns true if the agent learns from intrinsic rewards.
    fn has_intrinsic_rewards(_: &Self::Config) -> bool {
        false
    }

    /// Returns the number of bytes that a rollout holds for each step besides those of all on-policy algorithms.
    fn further_step_bytes(_: &Self::Config, _: &VectorSpec) -> usize {
        0
    }

    /// Creates a new learner.
    fn create(
        config: Self::Config,
        policy: PolicyConfig,
        spec: VectorSpec,
        cluster: Cluster,
        device: &Device,
        seed: u64,
    ) -> Result<Box<dyn Learner>> {
        let mut learner = OnPolicyLearner::<Self>::new(config, policy, spec, device, seed)?;
        learner.join(cluster)?;
        Ok(Box::new(learner))
    }

    /// Restores a learner from its state, to continue training with these settings.
    fn resume(
        state: &[u8],
        config: Self::Config,
        policy: PolicyConfig,
        cluster: Cluster,
        device: &Device,
    ) -> Result<Box<dyn Learner>> {
        let mut learner = OnPolicyLearner::<Self>::from_state_with(state, config, policy, device)?;
        learner.join(cluster)?;
        Ok(Box::new(learner))
    }

    /// Restores a learner from its state, to act without training.
    fn resume_to_act(state: &[u8], _: &Self::Config, device: &Device) -> Result<Box<dyn Learner>> {
        Ok(Box::new(OnPolicyLearner::<Self>::from_state(state, device)?))
    }

    /// Returns the metrics as they are recorded.
    fn samples(spec: &VectorSpec, metrics: &Self::Metrics) -> Vec<Sample>;

    /// Returns a player for environments like `spec`.
    fn player(
        learner: &OnPolicyLearner<Self>,
        spec: &VectorSpec,
        greedy: bool,
        seed: u64,
    ) -> Result<Box<dyn Player>, SpecError>;
}

/// The section of an experiment with rollouts.
pub(super) struct RolloutSections<A: RolloutAlgorithm> {
    config: A::Config,
}

impl<A: RolloutAlgorithm> fmt::Debug for RolloutSections<A> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct(A::SECTION).field("config", &self.config).finish()
    }
}

impl<A: RolloutAlgorithm> RolloutSections<A> {
    /// Reads the section from an experiment.
    pub(super) fn read(experiment: &Table) -> Result<Box<dyn AlgorithmConfig>> {
        Ok(Box::new(Self { config: section(experiment, A::SECTION)? }))
    }
}

impl<A: RolloutAlgorithm> AlgorithmConfig for RolloutSections<A> {
    fn to_toml(&self) -> Result<Table> {
        Ok(Table::from_iter([(A::SECTION.to_owned(), Value::Table(to_table(&self.config)?))]))
    }

    fn steps_per_update(&self) -> u64 {
        A::plan(&self.config).num_steps as u64
    }

    fn is_on_policy(&self) -> bool {
        true
    }

    fn total_steps(&self) -> u64 {
        A::plan(&self.config).total_steps
    }

    fn clips_values(&self) -> bool {
        A::clips_values(&self.config)
    }

    fn has_intrinsic_rewards(&self) -> bool {
        A::has_intrinsic_rewards(&self.config)
    }

    fn set_total_steps(&mut self, total_steps: u64) {
        self.config = A::with_total_steps(&self.config, total_steps);
    }

    fn validate(&self, policy: &PolicyConfig, num_envs: usize) -> Result<(), ConfigError> {
        A::validate(&self.config, policy, num_envs)
    }

    fn workload(&self, spec: &VectorSpec) -> Result<Workload> {
        let RolloutPlan { num_steps, num_minibatches, update_epochs, .. } = A::plan(&self.config);
        let samples = spec.num_envs() * num_steps;
        let further = A::further_step_bytes(&self.config, spec);
        let rollout = (samples * (spec.observation_space.byte_len() + STEP + further)) as u64;
        // With overlap, one rollout is collected while the learner learns from the other. A checkpoint contains the
        // finished one.
        let overlaps = u64::from(A::overlaps(&self.config));
        Ok(Workload {
            samples_per_step: update_epochs as f64,
            minibatch: samples.div_ceil(num_minibatches),
            learning_starts: 0,
            experience: (1 + overlaps) * rollout,
            capacity: samples as u64,
            in_checkpoint: overlaps * rollout,
            values_per_weight: 3,
        })
    }

    fn trial(&self, spec: &VectorSpec) -> Trial {
        let RolloutPlan { num_steps, num_minibatches, .. } = A::plan(&self.config);
        // One minibatch, or less than one if minibatches are large.
        let of_minibatch = num_steps.div_ceil(num_minibatches);
        let num_steps = of_minibatch.min(TRIAL_SAMPLES / spec.num_envs()).clamp(2, num_steps);
        let (config, samples) = (A::for_trial(&self.config, num_steps), num_steps * spec.num_envs());
        Trial { config: Box::new(Self { config }), samples, steps: samples as u64 }
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
        A::create(self.config.clone(), policy, spec, cluster, device, seed)
    }

    fn restore(
        &self,
        state: &[u8],
        policy: PolicyConfig,
        _: &VectorSpec,
        cluster: Cluster,
        device: &Device,
    ) -> Result<Box<dyn Learner>> {
        A::resume(state, self.config.clone(), policy, cluster, device)
    }

    fn restore_to_act(&self, state: &[u8], device: &Device) -> Result<Box<dyn Learner>> {
        A::resume_to_act(state, &self.config, device)
    }
}

impl<A: RolloutAlgorithm> Learner for OnPolicyLearner<A> {
    fn update_unless(&mut self, stop: &dyn Fn() -> bool) -> Result<Option<Vec<Sample>>, LearnerError> {
        let metrics = self.update_unless(stop)?;
        Ok(metrics.map(|metrics| A::samples(algorithms::Learner::spec(self), &metrics)))
    }

    fn player(&self, spec: &VectorSpec, greedy: bool, seed: u64) -> Result<Box<dyn Player>, SpecError> {
        A::player(self, spec, greedy, seed)
    }
}
