//! Agents like those of an experiment, without training.

use algorithms::VectorSpec;
use algorithms::networks::{PolicyConfig, TrainedNetwork};
use anyhow::Result;
use burn::tensor::Device;
use toml::Table;

use crate::config::Experiment;
use crate::learner::{Algorithm, Player};

/// The settings of the agents of an experiment.
#[derive(Clone)]
pub(in crate::environments) struct AgentSettings {
    algorithm: Algorithm,
    sections: Table,
    policy: PolicyConfig,
}

impl AgentSettings {
    pub(in crate::environments) fn of(experiment: &Experiment) -> Result<Self> {
        Ok(Self {
            algorithm: experiment.run.algorithm,
            sections: experiment.algorithm.to_toml()?,
            policy: experiment.policy.clone(),
        })
    }

    /// Returns a player with a network, for environments like `spec`, which samples its actions.
    pub(super) fn player(&self, network: &TrainedNetwork, spec: &VectorSpec) -> Result<Box<dyn Player>> {
        let algorithm = (self.algorithm.descriptor().read)(&self.sections)?;
        let learner = algorithm.with_weights(self.policy.clone(), spec.clone(), network, &Device::flex())?;
        Ok(learner.player(spec, false, 0)?)
    }
}
