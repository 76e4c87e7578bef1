//! The targets of intrinsic returns, entry by entry.

use burn::module::Module;
use burn::tensor::Tensor;
use kernels::host::to_host;

use super::config::RndConfig;
use super::normalized::normalized_frames;
use super::returns::continued_advantages;
use super::state::{Rnd, RndState};
use crate::LearnerError;
use crate::engine::halt::{Halt, halt_if};
use crate::engine::on_policy::OnPolicy;
use crate::experience::rollout::split;
use crate::networks::observation_statistics::Normalizer;
use crate::ppo::explained::Explained;
use crate::ppo::{Ppo, PpoConfig};
use crate::state_bytes::bad;

/// The number of frames that are added to the statistics at once. More would not fit the caches of a processor.
const FRAMES_AT_ONCE: usize = 64;

/// The intrinsic targets of a complete rollout, entry by entry: 0 for entries that are no transitions.
pub(in crate::ppo) struct IntrinsicTargets {
    pub(in crate::ppo) advantages: Vec<f32>,
    pub(super) returns: Vec<f32>,
    /// The normalisation of the frames that the predictor learns from. Its statistics include those of the rollout.
    pub(super) normalizer: Normalizer,
    /// The mean intrinsic reward of a transition, after its division by the deviation.
    pub(in crate::ppo) mean_reward: f32,
    /// The values and the returns of the transitions.
    pub(in crate::ppo) explained: Explained,
}

impl Ppo {
    /// Returns true if the next update only initialises the statistics of frames.
    pub(in crate::ppo) fn is_initializing(&self) -> bool {
        let initial = self.config.rnd.num_iterations_obs_norm_init as u64;
        self.config.rnd.enabled && self.on_policy.updates < initial
    }

    /// Computes the intrinsic targets of a complete rollout, whose `transitions` are entries. Updates the statistics.
    /// Returns nothing without intrinsic rewards, and while only statistics are initialised.
    pub(in crate::ppo) fn intrinsic_targets(
        &mut self,
        transitions: &[usize],
        stop: &dyn Fn() -> bool,
    ) -> Result<Option<IntrinsicTargets>, Halt> {
        let Some(rnd) = &self.agent.rnd else { return Ok(None) };
        if !rnd.is_complete(self.on_policy.spec.num_envs()) {
            let problem = "the steps with intrinsic rewards are not those of the rollout";
            return Err(Halt::Failed(bad(problem)));
        }
        if self.is_initializing() {
            self.add_frames(transitions, stop)?;
            return Ok(None);
        }
        let errors = self.prediction_errors(rnd, transitions, stop)?;
        self.add_frames(transitions, stop)?;
        let rewards = self.scaled_rewards(transitions, &errors);
        let rnd = self.agent.rnd.as_ref();
        Ok(rnd.map(|rnd| self.targets_of_rewards(rnd, transitions, &rewards)))
    }

    /// Computes the error of the predictor after the step of each of some entries, with the statistics before this
    /// rollout. Waits for the device once.
    fn prediction_errors(
        &self,
        rnd: &Rnd,
        entries: &[usize],
        stop: &dyn Fn() -> bool,
    ) -> Result<Vec<f32>, Halt> {
        let training = &self.on_policy.training;
        let device = training.device.clone().without_autodiff();
        let network = training.network.valid();
        let exploration = network.exploration().expect("the networks of intrinsic rewards");
        let normalizer = rnd.state.statistics.normalizer(&device);
        let mut errors = Vec::new();
        for part in split(entries, self.config.num_minibatches) {
            halt_if(stop)?;
            let frames = normalized_frames(&self.on_policy, rnd, part, &normalizer, &device);
            errors.push(exploration.errors(frames));
        }
        let errors = to_host(Tensor::cat(errors, 0)).map_err(LearnerError::from)?;
        if errors.iter().any(|error| !error.is_finite()) {
            return Err(LearnerError::NonFinite { what: "an intrinsic reward".to_owned() }.into());
        }
        Ok(errors)
    }

    /// Adds the frames after the steps of entries to their statistics.
    fn add_frames(&mut self, entries: &[usize], stop: &dyn Fn() -> bool) -> Result<(), Halt> {
        let OnPolicy { spec, rollout, .. } = &self.on_policy;
        let task = |entry: usize| spec.task_ids[rollout.env(entry)];
        let Some(rnd) = &mut self.agent.rnd else { return Ok(()) };
        for part in entries.chunks(FRAMES_AT_ONCE) {
            halt_if(stop)?;
            rnd.add_frames(part, task);
        }
        Ok(rnd.state.statistics.check(&spec.tasks)?)
    }

    /// Returns the intrinsic rewards of transitions, given the errors of the predictor, and updates their scale.
    fn scaled_rewards(&mut self, transitions: &[usize], errors: &[f32]) -> Vec<f32> {
        let OnPolicy { spec, rollout, .. } = &self.on_policy;
        let Some(Rnd { state: RndState { rewards: scale, .. }, .. }) = &mut self.agent.rnd else {
            return Vec::new();
        };
        let mut of_envs = vec![Vec::new(); spec.num_envs()];
        for (&entry, &error) in transitions.iter().zip(errors) {
            of_envs[rollout.env(entry)].push(error);
        }
        scale.observe(&of_envs, &spec.task_ids, self.config.rnd.int_gamma);
        let deviation = |entry: usize| scale.deviation(spec.task_ids[rollout.env(entry)]);
        transitions.iter().zip(errors).map(|(&entry, error)| error / deviation(entry)).collect()
    }

    /// Computes the targets of transitions from their intrinsic rewards.
    fn targets_of_rewards(&self, rnd: &Rnd, transitions: &[usize], rewards: &[f32]) -> IntrinsicTargets {
        let PpoConfig { gae_lambda, num_steps, rnd: RndConfig { int_gamma, .. }, .. } = self.config;
        let OnPolicy { spec, rollout, training, .. } = &self.on_policy;
        let values: Vec<f32> = transitions.iter().map(|&entry| rnd.value(entry)).collect();
        let mut advantages = Vec::new();
        for own in transitions.chunk_by(|first, second| rollout.env(*first) == rollout.env(*second)) {
            let steps = advantages.len()..advantages.len() + own.len();
            let last_value = rnd.last_value(rollout.env(own[0]));
            let (rewards, values) = (&rewards[steps.clone()], &values[steps]);
            advantages.extend(continued_advantages(rewards, values, last_value, int_gamma, gae_lambda));
        }
        let returns: Vec<f32> =
            advantages.iter().zip(&values).map(|(advantage, value)| advantage + value).collect();
        let of_entries = |of_transitions: &[f32]| {
            let mut all = vec![0.0; spec.num_envs() * num_steps];
            for (&entry, &value) in transitions.iter().zip(of_transitions) {
                all[entry] = value;
            }
            all
        };
        let mean = rewards.iter().map(|&reward| f64::from(reward)).sum::<f64>() / rewards.len() as f64;
        IntrinsicTargets {
            advantages: of_entries(&advantages),
            returns: of_entries(&returns),
            normalizer: rnd.state.statistics.normalizer(&training.device),
            mean_reward: mean as f32,
            explained: Explained {
                tasks: transitions.iter().map(|&entry| self.on_policy.task(entry)).collect(),
                values,
                returns,
            },
        }
    }
}
