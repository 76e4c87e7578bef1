use algorithms::cluster::Cluster;
use algorithms::networks::PolicyConfig;
use algorithms::pqn::{Pqn, PqnConfig, PqnMetrics};
use algorithms::{ConfigError, LearnerError, SpecError, VectorSpec};
use anyhow::Result;
use burn::tensor::Device;
use serde::{Deserialize, Serialize};
use settings::Section;
use toml::{Table, Value};

use super::algorithm::{ActionKind, AlgorithmConfig, Descriptor, Learner, Trial, Workload, to_table};
use super::on_policy::{self, Rollouts};
use super::player::Player;
use super::value_player::ValuePlayer;
use crate::telemetry::{Metric, Sample};

pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    title: "PQN",
    about: "Train an agent with PQN: Q-learning without a replay buffer",
    actions: &[ActionKind::Discrete],
    learning_rate: "learning_rate",
    examples: &["ale-train pqn", "ale-train pqn --games pong --num-envs 32"],
    sections: &[Section::of::<PqnConfig>("pqn")],
    read: |experiment| Ok(Box::new(Value::Table(experiment.clone()).try_into::<Sections>()?)),
};

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Sections {
    pqn: PqnConfig,
}

impl Sections {
    fn rollouts(&self) -> Rollouts {
        let PqnConfig { num_steps, num_minibatches, update_epochs, .. } = self.pqn;
        Rollouts { num_steps, num_minibatches, update_epochs }
    }
}

impl AlgorithmConfig for Sections {
    fn to_toml(&self) -> Result<Table> {
        to_table(self)
    }

    fn steps_per_update(&self) -> u64 {
        self.pqn.num_steps as u64
    }

    fn is_on_policy(&self) -> bool {
        true
    }

    fn total_steps(&self) -> u64 {
        self.pqn.total_steps
    }

    fn set_total_steps(&mut self, total_steps: u64) {
        self.pqn.total_steps = total_steps;
    }

    fn validate(&self, policy: &PolicyConfig, num_envs: usize) -> Result<(), ConfigError> {
        self.pqn.validate(num_envs).map_err(|error| error.within("pqn"))?;
        policy.validate_action_values().map_err(|error| error.within("policy"))
    }

    fn workload(&self, spec: &VectorSpec) -> Result<Workload> {
        Ok(self.rollouts().workload(spec))
    }

    fn trial(&self, spec: &VectorSpec) -> Trial {
        let num_steps = self.rollouts().trial_steps(spec);
        let config = PqnConfig {
            total_steps: u64::MAX,
            num_steps,
            num_minibatches: 1,
            update_epochs: 1,
            ..self.pqn.clone()
        };
        let samples = num_steps * spec.num_envs();
        Trial { config: Box::new(Self { pqn: config }), samples, steps: samples as u64 }
    }

    fn memory_remedy(&self) -> &'static str {
        on_policy::MEMORY_REMEDY
    }

    fn create(
        &self,
        policy: PolicyConfig,
        spec: VectorSpec,
        cluster: Cluster,
        device: &Device,
        seed: u64,
    ) -> Result<Box<dyn Learner>> {
        let mut learner = Pqn::new(self.pqn.clone(), policy, spec, device, seed)?;
        learner.join(cluster)?;
        Ok(Box::new(learner))
    }

    fn restore(
        &self,
        state: &[u8],
        policy: PolicyConfig,
        _: &VectorSpec,
        cluster: Cluster,
        device: &Device,
    ) -> Result<Box<dyn Learner>> {
        let mut learner = Pqn::from_state_with(state, self.pqn.clone(), policy, device)?;
        learner.join(cluster)?;
        Ok(Box::new(learner))
    }

    fn restore_to_act(&self, state: &[u8], device: &Device) -> Result<Box<dyn Learner>> {
        Ok(Box::new(Pqn::from_state(state, device)?))
    }
}

impl Learner for Pqn {
    fn update_unless(&mut self, stop: &dyn Fn() -> bool) -> Result<Option<Vec<Sample>>, LearnerError> {
        Ok(self.update_unless(stop)?.map(|metrics| samples(&metrics)))
    }

    fn player(&self, spec: &VectorSpec, greedy: bool, seed: u64) -> Result<Box<dyn Player>, SpecError> {
        let epsilon = if greedy { 0.0 } else { self.config().eval_epsilon.into() };
        Ok(Box::new(ValuePlayer::new(self.policy(spec)?, epsilon, seed)))
    }
}

fn samples(metrics: &PqnMetrics) -> Vec<Sample> {
    let values = [
        (Metric::LearningRate, metrics.learning_rate),
        (Metric::Epsilon, metrics.epsilon),
        (Metric::TdLoss, f64::from(metrics.td_loss)),
        (Metric::QValues, f64::from(metrics.q_values)),
        (Metric::GradientNorm, f64::from(metrics.grad_norm)),
        (Metric::DeadUnits, f64::from(metrics.dead_units)),
    ];
    values.into_iter().map(|(metric, value)| Sample::new(metric, value)).collect()
}
