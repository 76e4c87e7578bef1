//! The interface between the application and an algorithm.

use std::fmt;

use algorithms::cluster::Cluster;
use algorithms::networks::{PolicyConfig, TrainedNetwork, Transferred};
use algorithms::{ConfigError, LearnerError, SpecError, VectorSpec};
use anyhow::{Context, Result, ensure};
use burn::tensor::Device;
use rl_env::ActionKind;
use serde::Serialize;
use serde::de::DeserializeOwned;
use settings::Section;
use toml::Table;

use super::player::Player;
use crate::telemetry::Sample;

/// The entry of an algorithm in the registry.
pub(crate) struct Descriptor {
    /// The name in messages.
    pub(crate) title: &'static str,
    /// The help of the training command in one line.
    pub(crate) about: &'static str,
    /// The kinds of actions that the algorithm learns.
    pub(crate) actions: &'static [ActionKind],
    /// The key of the learning rate that warnings name, in the section of the algorithm.
    pub(crate) learning_rate: &'static str,
    /// Examples of the training command.
    pub(crate) examples: &'static [&'static str],
    /// The sections of an experiment that configure the algorithm.
    pub(crate) sections: &'static [Section],
    /// Reads the algorithm's sections from an experiment.
    pub(crate) read: fn(&Table) -> Result<Box<dyn AlgorithmConfig>>,
}

/// The amount of learning of an experiment, for estimates of time and memory.
pub(crate) struct Workload {
    /// The number of samples that the learner processes for each step of an environment.
    pub(crate) samples_per_step: f64,
    /// The number of samples of a minibatch.
    pub(crate) minibatch: usize,
    /// The number of steps of all environments before learning starts.
    pub(crate) learning_starts: u64,
    /// The size of the experience in memory, in bytes.
    pub(crate) experience: u64,
    /// The size of the experience in a checkpoint, in bytes.
    pub(crate) in_checkpoint: u64,
    /// The number of steps of all environments after which these sizes are reached.
    pub(crate) capacity: u64,
    /// The number of values in a checkpoint for each weight: the weight, its state in the optimiser, a target network.
    pub(crate) values_per_weight: u64,
}

impl Workload {
    /// Returns the size of the experience in memory after `steps` steps.
    pub(crate) fn experience_after(&self, steps: u64) -> u64 {
        self.filled_after(steps, self.experience)
    }

    /// Returns the size of the experience in a checkpoint after `steps` steps.
    pub(crate) fn in_checkpoint_after(&self, steps: u64) -> u64 {
        self.filled_after(steps, self.in_checkpoint)
    }

    fn filled_after(&self, steps: u64, bytes: u64) -> u64 {
        (bytes as f64 * (steps.min(self.capacity) as f64 / self.capacity.max(1) as f64)) as u64
    }
}

/// Settings of a learner for a short measurement. Its minibatches cost as much as those of training, but it needs few
/// steps for an update.
pub(crate) struct Trial {
    pub(crate) config: Box<dyn AlgorithmConfig>,
    /// The number of samples that an update learns from.
    pub(crate) samples: usize,
    /// The number of steps of all environments before the first update.
    pub(crate) steps: u64,
}

/// The settings of the algorithm that an experiment uses.
pub(crate) trait AlgorithmConfig: fmt::Debug {
    /// Returns the sections of an experiment that configure the algorithm.
    fn to_toml(&self) -> Result<Table>;

    /// Returns the number of steps that each environment makes between two updates.
    fn steps_per_update(&self) -> u64;

    /// Returns true if the algorithm learns from rollouts of all environments, rather than from a replay.
    fn is_on_policy(&self) -> bool;

    /// Returns the number of steps of all environments that training lasts, as the learner counts them.
    fn total_steps(&self) -> u64;

    /// Returns the number of steps of all environments before the first update, in addition to those of a rollout.
    fn learning_starts(&self) -> u64 {
        0
    }

    /// Returns true if the change of a value in an update is clipped, in units of rewards.
    fn clips_values(&self) -> bool {
        false
    }

    /// Returns true if the agent learns from intrinsic rewards.
    fn has_intrinsic_rewards(&self) -> bool {
        false
    }

    /// Sets the number of steps of all environments that training lasts.
    fn set_total_steps(&mut self, total_steps: u64);

    /// Checks the settings, also against the network and the number of environments.
    fn validate(&self, policy: &PolicyConfig, num_envs: usize) -> Result<(), ConfigError>;

    /// Returns the number of outputs for each action: more than 1 if the distribution of returns is learned.
    fn outputs_per_action(&self) -> usize {
        1
    }

    /// Returns the amount of learning in the environments of `spec`.
    fn workload(&self, spec: &VectorSpec) -> Result<Workload>;

    /// Returns settings for a measurement in the environments of `spec`.
    fn trial(&self, spec: &VectorSpec) -> Trial;

    /// Returns a clause that says how to use less memory.
    fn memory_remedy(&self) -> &'static str;

    /// Creates a new learner, which the processes of a cluster train together.
    fn create(
        &self,
        policy: PolicyConfig,
        spec: VectorSpec,
        cluster: Cluster,
        device: &Device,
        seed: u64,
    ) -> Result<Box<dyn Learner>>;

    /// Restores a learner from its state, to continue training with these settings in the environments of `spec`. Fails
    /// if a fixed setting differs from that of the state.
    fn restore(
        &self,
        state: &[u8],
        policy: PolicyConfig,
        spec: &VectorSpec,
        cluster: Cluster,
        device: &Device,
    ) -> Result<Box<dyn Learner>>;

    /// Restores a learner from its state, to act without training.
    fn restore_to_act(&self, state: &[u8], device: &Device) -> Result<Box<dyn Learner>>;

    /// Creates a learner with the weights of a trained network, to act in the environments of `spec` without training.
    /// Fails if the network has other tasks or layers.
    fn with_weights(
        &self,
        policy: PolicyConfig,
        spec: VectorSpec,
        network: &TrainedNetwork,
        device: &Device,
    ) -> Result<Box<dyn Learner>> {
        // Drops the memory that only training needs.
        let mut learner = self.trial(&spec).config.create(policy, spec, Cluster::default(), device, 0)?;
        let Transferred { tensors, total, .. } = learner.start_from(network)?;
        ensure!(tensors == total, "{tensors} of {total} tensors have weights");
        Ok(learner)
    }
}

/// A learner from the crate `algorithms`, with additions for the application.
pub(crate) trait Learner: algorithms::Learner {
    /// Updates the network and returns the metrics of the update, which are empty if this update does not report any.
    /// If `stop` returns true before the end, the update is undone and the result is `None`.
    fn update_unless(&mut self, stop: &dyn Fn() -> bool) -> Result<Option<Vec<Sample>>, LearnerError>;

    /// Returns a player with the current network, for environments like `spec`. It acts greedily or samples its actions
    /// as in training, with `seed`.
    fn player(&self, spec: &VectorSpec, greedy: bool, seed: u64) -> Result<Box<dyn Player>, SpecError>;
}

/// Returns a section of an experiment, or its defaults.
pub(super) fn section<T: Default + DeserializeOwned>(experiment: &Table, name: &str) -> Result<T> {
    experiment.get(name).cloned().map_or_else(|| Ok(T::default()), |section| Ok(section.try_into()?))
}

/// Returns settings as a table. Converting through text keeps an `f32` at the digits that were written: 0.2, not
/// 0.20000000298.
pub(crate) fn to_table(settings: &impl Serialize) -> Result<Table> {
    let text = toml::to_string(settings).context("the configuration cannot be written as TOML")?;
    Ok(text.parse()?)
}
