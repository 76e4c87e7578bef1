use std::io::Write;

use algorithms::cluster::Cluster;
use algorithms::dqn::{Distribution, Dqn, DqnConfig, DqnMetrics};
use algorithms::networks::PolicyConfig;
use algorithms::{ConfigError, LearnerError, SpecError, VectorSpec};
use anyhow::Result;
use burn::tensor::Device;
use serde::{Deserialize, Serialize};
use settings::Section;
use toml::{Table, Value};

use super::algorithm::{ActionKind, AlgorithmConfig, Descriptor, Learner, Trial, Workload, to_table};
use super::off_policy::{self, Minibatches, OffPolicy, ReplayLearner, TrialSizes};
use super::player::Player;
use super::replay_storage::{self, ReplaySettings};
use super::value_player::ValuePlayer;
use crate::telemetry::{Metric, Sample};

pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    title: "DQN",
    about: "Train an agent with DQN or its extensions up to Rainbow",
    actions: &[ActionKind::Discrete],
    learning_rate: "learning_rate",
    examples: &[
        "ale-train dqn",
        "ale-train dqn --games pong",
        "ale-train dqn --preset rainbow-dqn --games pong",
        "ale-train dqn --games pong --set dqn.double=true",
    ],
    sections: &[Section::of::<DqnConfig>("dqn"), Section::of::<ReplaySettings>("replay")],
    read: |experiment| Ok(Box::new(Value::Table(experiment.clone()).try_into::<Sections>()?)),
};

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Sections {
    dqn: DqnConfig,
    replay: ReplaySettings,
}

impl Sections {
    fn learner(&self, learner: Dqn) -> Box<dyn Learner> {
        Box::new(OffPolicy { learner, replay_in_checkpoint: self.replay.in_checkpoint })
    }

    fn minibatches(&self) -> Minibatches {
        let DqnConfig { batch_size, n_step, learning_starts, train_ratio, .. } = self.dqn;
        Minibatches { batch_size, n_step, learning_starts, train_ratio }
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
        self.dqn.total_steps
    }

    fn learning_starts(&self) -> u64 {
        self.dqn.learning_starts as u64
    }

    fn set_total_steps(&mut self, total_steps: u64) {
        self.dqn.total_steps = total_steps;
    }

    fn validate(&self, policy: &PolicyConfig, _: usize) -> Result<(), ConfigError> {
        self.dqn.validate().map_err(|error| error.within("dqn"))?;
        self.dqn.validate_policy(policy).map_err(|error| error.within("policy"))
    }

    fn outputs_per_action(&self) -> usize {
        match self.dqn.distribution {
            Distribution::Mean => 1,
            Distribution::C51 | Distribution::Quantile => self.dqn.num_atoms,
        }
    }

    fn workload(&self, spec: &VectorSpec) -> Result<Workload> {
        let size = Dqn::replay_size(&self.dqn, spec, &Cluster::default())?;
        Ok(self.minibatches().workload(size, &self.replay))
    }

    fn trial(&self, spec: &VectorSpec) -> Trial {
        let TrialSizes { learning_starts, buffer_size, train_ratio } = self.minibatches().trial(spec);
        let total_steps = u64::MAX;
        let dqn = DqnConfig { total_steps, learning_starts, buffer_size, train_ratio, ..self.dqn.clone() };
        let samples = dqn.batch_size;
        let replay = ReplaySettings { folder: None, ..self.replay.clone() };
        Trial { config: Box::new(Self { dqn, replay }), samples, steps: learning_starts as u64 }
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
        let size = Dqn::replay_size(&self.dqn, &spec, &cluster)?;
        let storage = replay_storage::of(&self.replay, size)?;
        let config = self.dqn.clone();
        Ok(self.learner(Dqn::in_cluster(config, policy, spec, cluster, storage, device, seed)?))
    }

    fn restore(
        &self,
        state: &[u8],
        policy: PolicyConfig,
        spec: &VectorSpec,
        cluster: Cluster,
        device: &Device,
    ) -> Result<Box<dyn Learner>> {
        let size = Dqn::replay_size(&self.dqn, spec, &cluster)?;
        let storage = replay_storage::of(&self.replay, size)?;
        let config = self.dqn.clone();
        let learner = Dqn::from_state_with(state, config, policy, cluster, storage, device);
        Ok(self.learner(learner.map_err(off_policy::with_remedy)?))
    }

    fn restore_to_act(&self, state: &[u8], device: &Device) -> Result<Box<dyn Learner>> {
        Ok(self.learner(Dqn::from_state_without_replay(state, device)?))
    }
}

impl ReplayLearner for Dqn {
    type Metrics = DqnMetrics;

    fn write_state_without_replay(&self, out: &mut dyn Write) -> Result<(), LearnerError> {
        self.write_state_without_replay(out)
    }

    fn learn_unless(&mut self, stop: &dyn Fn() -> bool) -> Result<Option<DqnMetrics>, LearnerError> {
        self.update_unless(stop)
    }

    fn samples(&self, metrics: &DqnMetrics) -> Vec<Sample> {
        let values = [
            (Metric::LearningRate, self.config().learning_rate),
            (Metric::Epsilon, metrics.epsilon),
            (Metric::TdLoss, f64::from(metrics.td_loss)),
            (Metric::QValues, f64::from(metrics.q_values)),
            (Metric::GradientNorm, f64::from(metrics.grad_norm)),
            (Metric::DeadUnits, f64::from(metrics.dead_units)),
            (Metric::ReplaySteps, metrics.replay_steps as f64),
        ];
        values.into_iter().map(|(metric, value)| Sample::new(metric, value)).collect()
    }

    fn player(&self, spec: &VectorSpec, greedy: bool, seed: u64) -> Result<Box<dyn Player>, SpecError> {
        let epsilon = if greedy { 0.0 } else { self.config().eval_epsilon.into() };
        Ok(Box::new(ValuePlayer::new(self.policy(spec)?, epsilon, seed)))
    }
}
