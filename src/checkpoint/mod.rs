//! Everything that a run needs to go on as if it had never stopped, in a folder.
//!
//! A checkpoint is written to a temporary folder, flushed to the disk and renamed, so that a crash at any moment leaves
//! the last good one. Every byte is checked against the manifest when it is loaded.

mod durable;
mod manifest;
mod store;
mod writer;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::telemetry::{FilePositions, Moment};

pub(crate) use store::{create_run, load, load_latest};
pub(crate) use writer::{CheckpointWriter, chosen};

/// The state of a run between two updates.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Checkpoint {
    /// The resolved configuration, as TOML.
    pub(crate) config: String,
    /// How far the run is.
    pub(crate) progress: Progress,
    /// The learner's state: networks, optimiser, random numbers, unfinished batches.
    pub(crate) learner: Vec<u8>,
    /// The state of every environment.
    pub(crate) environments: Vec<u8>,
}

/// How far a run is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Progress {
    pub(crate) moment: Moment,
    /// Returns of the last episodes of each task, the newest last.
    pub(crate) recent_returns: Vec<Vec<f64>>,
    /// How good the agent is, to find the best checkpoint of a run: the mean over the tasks of the recent return, or of
    /// the newest evaluation where the training is evaluated on its way; human-normalised where that is possible. Absent
    /// until every task has ended an episode, or until the first evaluation.
    #[serde(default)]
    pub(crate) score: Option<f64>,
    /// The newest evaluation on the way.
    #[serde(default)]
    pub(crate) evaluation: Option<Evaluated>,
    pub(crate) telemetry: FilePositions,
}

/// When the agent was evaluated, and what came of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Evaluated {
    /// Emulated frames of training before it.
    pub(crate) frames: u64,
    /// The mean over the tasks of the mean return, human-normalised where that is possible.
    pub(crate) score: f64,
}

/// The files of a checkpoint, besides the manifest.
pub(crate) const CONFIG: &str = "config.toml";
const PROGRESS: &str = "progress.json";
const LEARNER: &str = "learner.bin";
const ENVIRONMENTS: &str = "environments.bin";

impl Checkpoint {
    fn into_files(self) -> Result<Vec<(&'static str, Vec<u8>)>> {
        let progress = serde_json::to_vec_pretty(&self.progress)?;
        Ok(vec![
            (CONFIG, self.config.into_bytes()),
            (PROGRESS, progress),
            (LEARNER, self.learner),
            (ENVIRONMENTS, self.environments),
        ])
    }

    fn from_files(mut read: impl FnMut(&'static str) -> Result<Vec<u8>>) -> Result<Self> {
        Ok(Self {
            config: String::from_utf8(read(CONFIG)?).context("config.toml is no text")?,
            progress: serde_json::from_slice(&read(PROGRESS)?).context("progress.json cannot be read")?,
            learner: read(LEARNER)?,
            environments: read(ENVIRONMENTS)?,
        })
    }
}
