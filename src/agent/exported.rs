//! Files of `ale-train export`: weights in the safetensors format, with all metadata that is needed to act with them.

use std::collections::HashMap;
use std::path::Path;

use algorithms::VectorSpec;
use algorithms::networks::{NetworkDescription, TrainedNetwork};
use anyhow::{Context, Result, ensure};
use serde::de::DeserializeOwned;
use serde_json::json;

use super::{Exported, TrainedAgent, Weights};
use crate::config::{self, Config};
use crate::files::{self, limit};
use crate::scores::FinalScores;
use crate::tensors::{self, Precision};

// The keys of the metadata.
const NETWORK: &str = "network";
const ENVIRONMENTS: &str = "environments";
const EXPERIMENT: &str = "experiment";
const FRAMES: &str = "frames";
const COMMIT: &str = "commit";
const SCORES: &str = "scores";
const KEYS: [&str; 6] = [NETWORK, ENVIRONMENTS, EXPERIMENT, FRAMES, COMMIT, SCORES];

/// Returns the opening of every error about the contents of a file.
pub(super) fn unusable(path: &Path) -> String {
    format!("the agent {} cannot be used", path.display())
}

/// Opens a file.
pub(super) fn read(path: &Path) -> Result<TrainedAgent> {
    ensure!(
        path.extension().is_none_or(|extension| extension != "onnx"),
        "{} is for other programs: ale-train reads agents from .safetensors files",
        path.display()
    );
    let file = files::read(path, limit::AGENT).with_context(|| format!("cannot read {}", path.display()))?;
    parse(path, &file)
}

/// Opens the contents of a file. Errors name the file `path`.
pub(crate) fn parse(path: &Path, file: &[u8]) -> Result<TrainedAgent> {
    let (weights, metadata) = tensors::parse(path, file)?;
    let contents = Contents::new(path, metadata)?;
    let description: NetworkDescription = contents.json(NETWORK)?;
    let spec: VectorSpec = contents.parse(ENVIRONMENTS, |text| Ok(toml::from_str(text)?))?;
    // Weights of 16 bits take half as much space as in a state.
    let is_consistent = spec.is_consistent(file.len().saturating_mul(2)) && spec.tasks == description.tasks;
    ensure!(is_consistent, "{}: its network and its environments do not match", unusable(path));
    let experiment = config::from_toml(contents.text(EXPERIMENT)).and_then(Config::resolve);
    let experiment = experiment.with_context(|| unusable(path))?;
    let scores: Option<FinalScores> = contents.json(SCORES)?;
    let network = TrainedNetwork { description, weights };
    Ok(TrainedAgent {
        origin: path.to_owned(),
        scores: scores.filter(|scores| scores.are_of(&experiment.games.names())),
        experiment,
        frames: contents.json(FRAMES)?,
        commit: contents.json(COMMIT)?,
        weights: Weights::Network(Box::new(Exported { network, spec })),
    })
}

/// The metadata of a file, with every key.
struct Contents<'a> {
    path: &'a Path,
    metadata: HashMap<String, String>,
}

impl<'a> Contents<'a> {
    /// Fails if a key is missing. Programs that load and save tensors easily lose all metadata; the file of another
    /// version of this program may lack single keys.
    fn new(path: &'a Path, metadata: HashMap<String, String>) -> Result<Self> {
        let missing: Vec<&str> = KEYS.into_iter().filter(|&key| !metadata.contains_key(key)).collect();
        let name = path.display();
        ensure!(
            missing.len() < KEYS.len(),
            "{name} has no metadata of an agent; if it comes from `ale-train export`, pass the metadata of the exported \
             file when you save its weights again"
        );
        ensure!(
            missing.is_empty(),
            "{name} has no {} in its metadata; save the weights with all metadata of the agent's file, or export the agent \
             again with this version",
            missing.join(", ")
        );
        Ok(Self { path, metadata })
    }

    fn text(&self, key: &str) -> &str {
        &self.metadata[key]
    }

    fn json<T: DeserializeOwned>(&self, key: &str) -> Result<T> {
        self.parse(key, |text| Ok(serde_json::from_str(text)?))
    }

    fn parse<T>(&self, key: &str, parse: impl Fn(&str) -> Result<T>) -> Result<T> {
        parse(self.text(key)).with_context(|| format!("{}: its {key} cannot be read", unusable(self.path)))
    }
}

impl TrainedAgent {
    /// Writes the network to a file, and adds `metadata` to its own metadata.
    pub(crate) fn write(
        &self,
        Exported { network, spec }: Exported,
        path: &Path,
        precision: Precision,
        mut metadata: HashMap<String, String>,
    ) -> Result<()> {
        let values = [
            // Libraries for PyTorch look for it.
            ("format", "pt".to_owned()),
            (NETWORK, json!(network.description).to_string()),
            // Not JSON, which cannot represent infinite bounds of observations.
            (ENVIRONMENTS, toml::to_string(&spec)?),
        ];
        metadata.extend(values.map(|(key, value)| (key.to_owned(), value)));
        metadata.extend(self.metadata()?);
        tensors::write(path, network.weights, precision, metadata)
    }

    /// Returns the metadata about the agent's training.
    pub(crate) fn metadata(&self) -> Result<HashMap<String, String>> {
        let values = [
            (EXPERIMENT, self.experiment.to_toml()?),
            (FRAMES, json!(self.frames).to_string()),
            (COMMIT, json!(self.commit).to_string()),
            (SCORES, json!(self.scores).to_string()),
        ];
        Ok(values.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
    }
}
