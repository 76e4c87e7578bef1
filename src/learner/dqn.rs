use std::io::Write;

use algorithms::dqn::{Distribution, Dqn, DqnConfig, DqnMetrics};
use algorithms::networks::{
    NamedWeights, NetworkDescription, PolicyConfig, TrainedNetwork, TransferError, Transferred,
};
use algorithms::{ConfigError, Learner as _, LearnerError, SpecError, VectorSpec};
use anyhow::Result;
use burn::tensor::Device;
use rl_env::{Actions, Batch};
use serde::{Deserialize, Serialize};
use settings::Section;
use toml::{Table, Value};

use super::algorithm::{AlgorithmConfig, Descriptor, Learner, Trial, Workload, to_table};
use super::player::Player;
use super::replay_storage::{self, ReplaySettings};
use super::value_player::ValuePlayer;
use crate::telemetry::{Metric, Sample};

pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    title: "DQN",
    about: "Train an agent with DQN or its extensions up to Rainbow",
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
    fn learner(&self, dqn: Dqn) -> Box<dyn Learner> {
        Box::new(DqnLearner { dqn, replay_in_checkpoint: self.replay.in_checkpoint })
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
        let size = Dqn::replay_size(&self.dqn, spec)?;
        Ok(Workload {
            samples_per_step: self.dqn.train_ratio * self.dqn.batch_size as f64,
            minibatch: self.dqn.batch_size,
            learning_starts: self.dqn.learning_starts as u64,
            experience: if self.replay.folder.is_some() { size.index_bytes } else { size.total_bytes() },
            capacity: size.steps,
            in_checkpoint: self.replay.in_checkpoint,
            values_per_weight: 4,
        })
    }

    fn trial(&self, spec: &VectorSpec) -> Trial {
        let num_envs = spec.num_envs();
        let of_task = |task: usize| spec.task_ids.iter().filter(|&&id| id == task).count();
        let most = (0..spec.tasks.len()).map(of_task).max().unwrap_or(1);
        let learning_starts = self.dqn.batch_size.max(num_envs * (self.dqn.n_step + 2));
        let dqn = DqnConfig {
            total_steps: u64::MAX,
            learning_starts,
            // Every game has an equal share, which its environments divide.
            buffer_size: (spec.tasks.len() * most * TRIAL_STEPS).max(learning_starts),
            train_ratio: self.dqn.train_ratio.min(TRIAL_UPDATES / num_envs as f64),
            ..self.dqn.clone()
        };
        let samples = dqn.batch_size;
        let replay = ReplaySettings { folder: None, ..self.replay.clone() };
        Trial { config: Box::new(Self { dqn, replay }), samples, steps: learning_starts as u64 }
    }

    fn memory_remedy(&self) -> &'static str {
        "use a smaller replay (dqn.buffer_size), keep it in a file (replay.folder) or use smaller observations \
         (environments.img_height and img_width)"
    }

    fn create(
        &self,
        policy: PolicyConfig,
        spec: VectorSpec,
        device: &Device,
        seed: u64,
    ) -> Result<Box<dyn Learner>> {
        let storage = replay_storage::of(&self.replay, &self.dqn, &spec)?;
        Ok(self.learner(Dqn::with_storage(self.dqn.clone(), policy, spec, storage, device, seed)?))
    }

    fn restore(
        &self,
        state: &[u8],
        policy: PolicyConfig,
        spec: &VectorSpec,
        device: &Device,
    ) -> Result<Box<dyn Learner>> {
        let storage = replay_storage::of(&self.replay, &self.dqn, spec)?;
        Ok(self.learner(Dqn::from_state_with(state, self.dqn.clone(), policy, storage, device)?))
    }

    fn restore_to_act(&self, state: &[u8], device: &Device) -> Result<Box<dyn Learner>> {
        Ok(self.learner(Dqn::from_state(state, device)?))
    }
}

/// The number of steps of an environment in the replay of a measurement.
const TRIAL_STEPS: usize = 64;
/// The largest number of gradient steps in a round of a measurement; more would take too long.
const TRIAL_UPDATES: f64 = 4.0;

/// The number of gradient steps between two reports.
const REPORT_INTERVAL: u64 = 250;

/// DQN, which reports once in a while and may leave its replay out of checkpoints.
struct DqnLearner {
    dqn: Dqn,
    replay_in_checkpoint: bool,
}

impl algorithms::Learner for DqnLearner {
    fn spec(&self) -> &VectorSpec {
        self.dqn.spec()
    }

    fn act(&mut self, batch: &Batch) -> Result<Actions<'_>, LearnerError> {
        self.dqn.act(batch)
    }

    fn observe(&mut self, batch: &Batch) -> Result<(), LearnerError> {
        self.dqn.observe(batch)
    }

    fn can_act(&self, batch: &Batch) -> bool {
        self.dqn.can_act(batch)
    }

    fn is_ready(&self) -> bool {
        self.dqn.is_ready()
    }

    fn updates(&self) -> u64 {
        self.dqn.updates()
    }

    fn is_complete(&self) -> bool {
        self.dqn.is_complete()
    }

    fn is_idle(&self) -> bool {
        true
    }

    fn write_state(&self, out: &mut dyn Write) -> Result<(), LearnerError> {
        if self.replay_in_checkpoint {
            self.dqn.write_state(out)
        } else {
            self.dqn.write_state_without_replay(out)
        }
    }

    fn torch_weights(&self) -> Result<Vec<NamedWeights>, LearnerError> {
        self.dqn.torch_weights()
    }

    fn description(&self) -> NetworkDescription {
        self.dqn.description()
    }

    fn start_from(&mut self, source: &TrainedNetwork) -> Result<Transferred, TransferError> {
        self.dqn.start_from(source)
    }
}

impl Learner for DqnLearner {
    fn update_unless(&mut self, stop: &dyn Fn() -> bool) -> Result<Option<Vec<Sample>>, LearnerError> {
        let before = self.dqn.updates();
        let Some(metrics) = self.dqn.update_unless(stop)? else { return Ok(None) };
        // Depends on the count alone, so that a resumed run reports after the same updates.
        let reports = before == 0 || before / REPORT_INTERVAL < self.dqn.updates() / REPORT_INTERVAL;
        Ok(Some(if reports { samples(&metrics, self.dqn.config().learning_rate) } else { Vec::new() }))
    }

    fn player(&self, spec: &VectorSpec, greedy: bool, seed: u64) -> Result<Box<dyn Player>, SpecError> {
        let epsilon = if greedy { 0.0 } else { self.dqn.config().eval_epsilon.into() };
        Ok(Box::new(ValuePlayer::new(self.dqn.policy(spec)?, epsilon, seed)))
    }
}

fn samples(metrics: &DqnMetrics, learning_rate: f64) -> Vec<Sample> {
    let values = [
        (Metric::LearningRate, learning_rate),
        (Metric::Epsilon, metrics.epsilon),
        (Metric::TdLoss, f64::from(metrics.td_loss)),
        (Metric::QValues, f64::from(metrics.q_values)),
        (Metric::GradientNorm, f64::from(metrics.grad_norm)),
        (Metric::DeadUnits, f64::from(metrics.dead_units)),
        (Metric::ReplaySteps, metrics.replay_steps as f64),
    ];
    values.into_iter().map(|(metric, value)| Sample::new(metric, value)).collect()
}
