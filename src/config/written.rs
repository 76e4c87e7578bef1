use algorithms::networks::PolicyConfig;
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use super::embedded_presets::Chosen;
use super::schema::{DERIVED, without_absent};
use super::sections::{
    CheckpointSettings, DistributedSettings, EnvironmentSettings, EvaluationSettings, RunSettings,
};
use crate::learner::{Algorithm, AlgorithmConfig, to_table};

/// An experiment as written, with defaults for absent keys.
#[derive(Debug)]
pub(crate) struct Config {
    pub(crate) sections: Sections,
    /// The sections of the algorithm that the experiment uses.
    pub(crate) algorithm: Box<dyn AlgorithmConfig>,
    /// The preset that it starts from, if it starts from one.
    pub(crate) preset: Option<Chosen>,
    /// The keys that have other values because the run starts from the weights of an agent, such as `policy.lstm = 8`.
    pub(crate) inherited: Vec<String>,
    /// Warnings about how the experiment is written.
    pub(super) notes: Vec<String>,
}

/// The sections that do not depend on the algorithm.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Sections {
    #[serde(rename = "experiment")]
    pub(crate) run: RunSettings,
    pub(crate) environments: EnvironmentSettings,
    pub(crate) policy: PolicyConfig,
    pub(crate) evaluation: EvaluationSettings,
    pub(crate) checkpoints: CheckpointSettings,
    pub(crate) distributed: DistributedSettings,
}

impl Config {
    /// Returns the experiment with every key that it uses.
    pub(super) fn to_table(&self) -> Result<Table> {
        table_of(&self.sections, self.algorithm.as_ref())
    }

    /// Reads an experiment. Sections of algorithms that it does not use are checked and dropped.
    pub(super) fn new(experiment: &Table) -> Result<Self> {
        let experiment = &without_absent(experiment);
        let sections: Sections = Value::Table(experiment.clone()).try_into()?;
        let mut used = None;
        for &algorithm in Algorithm::ALL {
            let settings = (algorithm.descriptor().read)(experiment)?;
            if algorithm == sections.run.algorithm {
                used = Some(settings);
            }
        }
        let algorithm = used.context("the algorithm is not in the registry")?;
        Ok(Self { sections, algorithm, preset: None, inherited: Vec::new(), notes: Vec::new() })
    }
}

/// Returns an experiment with every key that it uses.
pub(super) fn table_of(sections: &Sections, algorithm: &dyn AlgorithmConfig) -> Result<Table> {
    let mut experiment = to_table(sections)?;
    for (name, mut section) in algorithm.to_toml()? {
        section.as_table_mut().map(|section| section.remove(DERIVED));
        experiment.insert(name, section);
    }
    Ok(experiment)
}
