//! The interface between the application and an algorithm.

use std::fmt;

use algorithms::networks::PolicyConfig;
use algorithms::{ConfigError, LearnerError, SpecError, VectorSpec};
use anyhow::{Context, Result};
use burn::tensor::Device;
use serde::Serialize;
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
    /// Examples of the training command.
    pub(crate) examples: &'static [&'static str],
    /// The sections of an experiment that configure the algorithm.
    pub(crate) sections: &'static [Section],
    /// Reads the algorithm's sections from an experiment.
    pub(crate) read: fn(&Table) -> Result<Box<dyn AlgorithmConfig>>,
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

    /// Sets the number of steps of all environments that training lasts.
    fn set_total_steps(&mut self, total_steps: u64);

    /// Checks the settings, also against the network and the number of environments.
    fn validate(&self, policy: &PolicyConfig, num_envs: usize) -> Result<(), ConfigError>;

    /// Returns the number of outputs for each action: more than 1 if the distribution of returns is learned.
    fn outputs_per_action(&self) -> usize {
        1
    }

    /// Creates a new learner.
    fn create(
        &self,
        policy: PolicyConfig,
        spec: VectorSpec,
        device: &Device,
        seed: u64,
    ) -> Result<Box<dyn Learner>>;

    /// Restores a learner from its state, to continue training with these settings in the environments of `spec`. Fails if a
    /// fixed setting differs from that of the state.
    fn restore(
        &self,
        state: &[u8],
        policy: PolicyConfig,
        spec: &VectorSpec,
        device: &Device,
    ) -> Result<Box<dyn Learner>>;

    /// Restores a learner from its state, to act without training.
    fn restore_to_act(&self, state: &[u8], device: &Device) -> Result<Box<dyn Learner>>;
}

/// A learner of `algorithms`, with the additions that the application needs.
pub(crate) trait Learner: algorithms::Learner {
    /// Updates the network and returns the metrics of the update; none if it is not one that reports. If `stop` returns true
    /// before the end, the update is undone and the result is `None`.
    fn update_unless(&mut self, stop: &dyn Fn() -> bool) -> Result<Option<Vec<Sample>>, LearnerError>;

    /// Returns a player with the current network, for environments like `spec`. It acts greedily or samples its actions
    /// as in training, with `seed`.
    fn player(&self, spec: &VectorSpec, greedy: bool, seed: u64) -> Result<Box<dyn Player>, SpecError>;
}

/// Returns settings as a table. The detour through text rounds an `f32` to the digits that were written: 0.2, not
/// 0.20000000298.
pub(crate) fn to_table(settings: &impl Serialize) -> Result<Table> {
    let text = toml::to_string(settings).context("the configuration cannot be written as TOML")?;
    Ok(text.parse()?)
}
