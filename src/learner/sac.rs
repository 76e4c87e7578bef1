use std::io::Write;

use algorithms::cluster::Cluster;
use algorithms::networks::PolicyConfig;
use algorithms::sac::{Policy, Sac, SacConfig, SacMetrics};
use algorithms::{ConfigError, LearnerError, SpecError, VectorSpec};
use anyhow::Result;
use burn::tensor::Device;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rl_env::{ActionBuffer, Batch};
use serde::{Deserialize, Serialize};
use settings::Section;
use toml::{Table, Value};

use super::algorithm::{ActionKind, AlgorithmConfig, Descriptor, Learner, Trial, Workload, to_table};
use super::off_policy::{self, Minibatches, OffPolicy, ReplayLearner, TrialSizes};
use super::player::{Player, Reading};
use super::replay_storage::{self, ReplaySettings};
use crate::telemetry::{Metric, Sample};

pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    title: "SAC",
    about: "Train an agent with SAC: off-policy, for continuous actions",
    actions: &[ActionKind::Continuous],
    learning_rate: "q_lr",
    examples: &[
        "ale-train sac",
        "ale-train sac --games HalfCheetah-v5",
        "ale-train sac --games MountainCarContinuous-v0",
        "ale-train sac --games Pendulum-v1 --set sac.policy_frequency=1",
    ],
    sections: &[Section::of::<SacConfig>("sac"), Section::of::<ReplaySettings>("replay")],
    read: |experiment| Ok(Box::new(Value::Table(experiment.clone()).try_into::<Sections>()?)),
};

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Sections {
    sac: SacConfig,
    replay: ReplaySettings,
}

impl Sections {
    fn learner(&self, learner: Sac) -> Box<dyn Learner> {
        Box::new(OffPolicy { learner, replay_in_checkpoint: self.replay.in_checkpoint })
    }

    fn minibatches(&self) -> Minibatches {
        let SacConfig { batch_size, learning_starts, train_ratio, .. } = self.sac;
        Minibatches { batch_size, n_step: 1, learning_starts, train_ratio }
    }
}

impl AlgorithmConfig for Sections {
    fn to_toml(&self) -> Result<Table> {
        to_table(self)
    }

    fn steps_per_update(&self) -> u64 {
        1
    }

    fn is_on_policy(&self) -> bool {
        false
    }

    fn total_steps(&self) -> u64 {
        self.sac.total_steps
    }

    fn learning_starts(&self) -> u64 {
        self.sac.learning_starts as u64
    }

    fn set_total_steps(&mut self, total_steps: u64) {
        self.sac.total_steps = total_steps;
    }

    fn validate(&self, policy: &PolicyConfig, _: usize) -> Result<(), ConfigError> {
        self.sac.validate().map_err(|error| error.within("sac"))?;
        policy.validate_soft_actor_critic().map_err(|error| error.within("policy"))
    }

    fn workload(&self, spec: &VectorSpec) -> Result<Workload> {
        let size = Sac::replay_size(&self.sac, spec, &Cluster::default())?;
        Ok(self.minibatches().workload(size, &self.replay))
    }

    fn trial(&self, spec: &VectorSpec) -> Trial {
        let TrialSizes { learning_starts, buffer_size, train_ratio } = self.minibatches().trial(spec);
        let total_steps = u64::MAX;
        let sac = SacConfig { total_steps, learning_starts, buffer_size, train_ratio, ..self.sac.clone() };
        let samples = sac.batch_size;
        let replay = ReplaySettings { folder: None, ..self.replay.clone() };
        Trial { config: Box::new(Self { sac, replay }), samples, steps: learning_starts as u64 }
    }

    fn memory_remedy(&self) -> &'static str {
        off_policy::MEMORY_REMEDY
    }

    fn create(
        &self,
        policy: PolicyConfig,
        spec: VectorSpec,
        cluster: Cluster,
        device: &Device,
        seed: u64,
    ) -> Result<Box<dyn Learner>> {
        let size = Sac::replay_size(&self.sac, &spec, &cluster)?;
        let storage = replay_storage::of(&self.replay, size)?;
        let config = self.sac.clone();
        Ok(self.learner(Sac::in_cluster(config, policy, spec, cluster, storage, device, seed)?))
    }

    fn restore(
        &self,
        state: &[u8],
        policy: PolicyConfig,
        spec: &VectorSpec,
        cluster: Cluster,
        device: &Device,
    ) -> Result<Box<dyn Learner>> {
        let size = Sac::replay_size(&self.sac, spec, &cluster)?;
        let storage = replay_storage::of(&self.replay, size)?;
        let config = self.sac.clone();
        let learner = Sac::from_state_with(state, config, policy, cluster, storage, device);
        Ok(self.learner(learner.map_err(off_policy::with_remedy)?))
    }

    fn restore_to_act(&self, state: &[u8], device: &Device) -> Result<Box<dyn Learner>> {
        Ok(self.learner(Sac::from_state_without_replay(state, device)?))
    }
}

impl ReplayLearner for Sac {
    type Metrics = SacMetrics;

    fn write_state_without_replay(&self, out: &mut dyn Write) -> Result<(), LearnerError> {
        self.write_state_without_replay(out)
    }

    fn learn_unless(&mut self, stop: &dyn Fn() -> bool) -> Result<Option<SacMetrics>, LearnerError> {
        self.update_unless(stop)
    }

    fn samples(&self, metrics: &SacMetrics) -> Vec<Sample> {
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

    fn player(&self, spec: &VectorSpec, greedy: bool, seed: u64) -> Result<Box<dyn Player>, SpecError> {
        let rng = ChaCha8Rng::seed_from_u64(seed);
        Ok(Box::new(SquashedPlayer { policy: self.policy(spec)?, greedy, rng }))
    }
}

/// Samples actions from a policy, or takes those of its means.
struct SquashedPlayer {
    policy: Policy,
    greedy: bool,
    rng: ChaCha8Rng,
}

impl Player for SquashedPlayer {
    fn act(&mut self, batch: &Batch) -> Result<ActionBuffer, LearnerError> {
        let actions =
            if self.greedy { self.policy.greedy(batch) } else { self.policy.sample(batch, &mut self.rng) };
        actions.map(ActionBuffer::Continuous)
    }

    fn readings(&self, batch: &Batch) -> Result<Vec<Reading>, LearnerError> {
        let reading = |value| Reading::Policy { probabilities: Vec::new(), value };
        Ok(self.policy.values(batch)?.into_iter().map(reading).collect())
    }
}
