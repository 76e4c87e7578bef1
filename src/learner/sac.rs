use algorithms::cluster::Cluster;
use algorithms::networks::PolicyConfig;
use algorithms::sac::{Continuous, Discrete, DiscreteSac, Kind, Policy, SacAgent, SacConfig, SacMetrics};
use algorithms::{ConfigError, LearnerError, OffPolicyLearner, SpecError, VectorSpec};
use anyhow::Result;
use burn::tensor::Device;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rl_env::{ActionBuffer, ActionKind, Batch};
use settings::Section;
use toml::Table;

use super::algorithm::{AlgorithmConfig, Descriptor, Learner, Trial, Workload};
use super::off_policy::{Minibatches, ReplayAlgorithm, ReplaySections, TrialSizes};
use super::player::{Player, Reading};
use super::replay_storage::ReplaySettings;
use crate::telemetry::{Metric, Sample};

pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    title: "SAC",
    about: "Train an agent with SAC: off-policy, with a reward for entropy",
    actions: &[ActionKind::Discrete, ActionKind::Continuous],
    learning_rate: "q_lr",
    examples: &[
        "ale-train sac",
        "ale-train sac --games HalfCheetah-v5",
        "ale-train sac --games MountainCarContinuous-v0",
        "ale-train sac --games Pendulum-v1 --set sac.policy_frequency=1",
        "ale-train sac --games CartPole-v1",
        "ale-train sac --games pong,breakout",
    ],
    sections: &[Section::of::<SacConfig>("sac"), Section::of::<ReplaySettings>("replay")],
    read: SacSections::read,
};

/// The sections of an experiment, read for both kinds of actions. The environments decide between them.
#[derive(Debug)]
struct SacSections {
    continuous: ReplaySections<SacAgent<Continuous>>,
    discrete: ReplaySections<SacAgent<Discrete>>,
}

impl SacSections {
    fn read(experiment: &Table) -> Result<Box<dyn AlgorithmConfig>> {
        Ok(Box::new(Self {
            continuous: ReplaySections::of(experiment)?,
            discrete: ReplaySections::of(experiment)?,
        }))
    }

    /// Returns the sections for the kind of actions in `spec`, of which all tasks have the same.
    fn of(&self, spec: &VectorSpec) -> &dyn AlgorithmConfig {
        let are_continuous = spec.tasks.iter().any(|task| task.actions.joint().is_none());
        if are_continuous { &self.continuous } else { &self.discrete }
    }
}

impl AlgorithmConfig for SacSections {
    fn to_toml(&self) -> Result<Table> {
        self.continuous.to_toml()
    }

    fn steps_per_update(&self) -> u64 {
        self.continuous.steps_per_update()
    }

    fn is_on_policy(&self) -> bool {
        self.continuous.is_on_policy()
    }

    fn total_steps(&self) -> u64 {
        self.continuous.total_steps()
    }

    fn learning_starts(&self) -> u64 {
        self.continuous.learning_starts()
    }

    fn set_total_steps(&mut self, total_steps: u64) {
        self.continuous.set_total_steps(total_steps);
        self.discrete.set_total_steps(total_steps);
    }

    fn validate(&self, policy: &PolicyConfig, num_envs: usize) -> Result<(), ConfigError> {
        self.continuous.validate(policy, num_envs)
    }

    fn workload(&self, spec: &VectorSpec) -> Result<Workload> {
        self.of(spec).workload(spec)
    }

    fn trial(&self, spec: &VectorSpec) -> Trial {
        self.of(spec).trial(spec)
    }

    fn memory_remedy(&self) -> &'static str {
        self.continuous.memory_remedy()
    }

    fn create(
        &self,
        policy: PolicyConfig,
        spec: VectorSpec,
        cluster: Cluster,
        device: &Device,
        seed: u64,
    ) -> Result<Box<dyn Learner>> {
        self.of(&spec).create(policy, spec, cluster, device, seed)
    }

    fn restore(
        &self,
        state: &[u8],
        policy: PolicyConfig,
        spec: &VectorSpec,
        cluster: Cluster,
        device: &Device,
    ) -> Result<Box<dyn Learner>> {
        self.of(spec).restore(state, policy, spec, cluster, device)
    }

    fn restore_to_act(&self, state: &[u8], device: &Device) -> Result<Box<dyn Learner>> {
        if DiscreteSac::is_state(state) {
            self.discrete.restore_to_act(state, device)
        } else {
            self.continuous.restore_to_act(state, device)
        }
    }
}

impl<K: Kind> ReplayAlgorithm for SacAgent<K> {
    const SECTION: &str = "sac";

    fn total_steps(config: &SacConfig) -> u64 {
        config.total_steps
    }

    fn minibatches(config: &SacConfig) -> Minibatches {
        let SacConfig { batch_size, learning_starts, train_ratio, .. } = *config;
        Minibatches { batch_size, n_step: 1, learning_starts, train_ratio }
    }

    fn resized(config: &SacConfig, total_steps: u64, sizes: Option<TrialSizes>) -> SacConfig {
        let config = SacConfig { total_steps, ..config.clone() };
        let Some(TrialSizes { learning_starts, buffer_size, train_ratio }) = sizes else { return config };
        SacConfig { learning_starts, buffer_size, train_ratio, ..config }
    }

    fn samples(_: &OffPolicyLearner<Self>, metrics: &SacMetrics) -> Vec<Sample> {
        let actor = metrics.actor;
        let values = [
            (Metric::QfLoss, Some(metrics.qf_loss)),
            (Metric::Qf1Values, Some(metrics.qf_values[0])),
            (Metric::Qf2Values, Some(metrics.qf_values[1])),
            (Metric::ActorLoss, actor.map(|actor| actor.actor_loss)),
            (Metric::Entropy, actor.map(|actor| actor.entropy)),
            (Metric::Alpha, Some(metrics.alpha)),
            (Metric::AlphaLoss, actor.and_then(|actor| actor.alpha_loss)),
            (Metric::GradientNorm, Some(metrics.grad_norm)),
            (Metric::DeadUnits, Some(metrics.dead_units)),
            (Metric::ReplaySteps, Some(metrics.replay_steps as f32)),
        ];
        let sample = |(metric, value): (Metric, Option<f32>)| Some(Sample::new(metric, f64::from(value?)));
        values.into_iter().filter_map(sample).collect()
    }

    fn player(
        sac: &OffPolicyLearner<Self>,
        spec: &VectorSpec,
        greedy: bool,
        seed: u64,
    ) -> Result<Box<dyn Player>, SpecError> {
        let rng = ChaCha8Rng::seed_from_u64(seed);
        Ok(Box::new(SoftPlayer { policy: sac.policy(spec)?, greedy, rng }))
    }
}

/// Samples actions from a policy, or takes the greedy ones.
struct SoftPlayer<K: Kind> {
    policy: Policy<K>,
    greedy: bool,
    rng: ChaCha8Rng,
}

impl<K: Kind> Player for SoftPlayer<K> {
    fn act(&mut self, batch: &Batch) -> Result<ActionBuffer, LearnerError> {
        self.policy.act(batch, self.greedy, &mut self.rng)
    }

    fn reseed(&mut self, seed: u64) {
        self.rng = ChaCha8Rng::seed_from_u64(seed);
    }

    fn readings(&self, batch: &Batch) -> Result<Vec<Reading>, LearnerError> {
        let log_probs = self.policy.log_probs(batch)?.into_iter();
        let reading = |(log_probs, value): (Vec<f32>, f32)| {
            let probabilities = log_probs.into_iter().map(f32::exp).collect();
            Reading::Policy { probabilities, value }
        };
        Ok(log_probs.zip(self.policy.values(batch)?).map(reading).collect())
    }
}
