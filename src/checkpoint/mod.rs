//! Checkpoints: directories with the complete state of a run. A run that resumes from one continues as if it had never
//! stopped.
//!
//! A checkpoint is written to a temporary directory, synced to the disk and renamed, so that a crash at any time leaves
//! the previous one intact. Loading verifies every byte against the manifest.

mod abandon;
mod amendments;
mod checkpoint_summary;
mod create;
mod file_name;
mod in_training;
mod lock;
mod manifest;
mod new_episodes;
mod presence;
mod provenance_file;
mod request;
mod run_directory;
mod store;
#[cfg(test)]
mod tests;
mod timer;
mod writer;

use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use crate::recent_returns::RecentReturns;
use crate::telemetry::{FilePositions, Moment};

use manifest::Manifest;

pub(crate) use amendments::{Amendment, are_published, publish, published};
pub(crate) use checkpoint_summary::{Summary, summary, summary_of_newest};
pub(crate) use create::create_run;
pub(crate) use in_training::age_in_training;
pub(crate) use lock::{acquire as lock, is_locked, may_be_locked};
pub(crate) use new_episodes::{NewEpisodes, publish_new_episodes};
pub(crate) use presence::Presence;
pub(crate) use request::{is_requested, request, withdraw_request};
pub(crate) use run_directory::{PROVENANCE, create_unused, is_before_first_checkpoint, run_at, run_of};
pub(crate) use store::{load, load_latest, unusable};
pub(crate) use writer::{CheckpointWriter, chosen};

/// The state of a run between two steps.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Checkpoint<L = Vec<u8>> {
    /// The resolved configuration, as TOML.
    pub(crate) config: String,
    /// The progress of the run.
    pub(crate) progress: Progress,
    /// The state of the learner: networks, optimiser, random number generators, unfinished batches.
    pub(crate) learner: L,
    /// The state of every environment.
    pub(crate) environments: Vec<u8>,
}

/// The progress of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Progress {
    pub(crate) moment: Moment,
    /// Returns of the last episodes of each task.
    pub(crate) recent_returns: Vec<RecentReturns>,
    /// The score of the agent (`Games::score`), which determines the best checkpoint of a run: that of the recent
    /// returns or, with evaluations during training, of the newest evaluation. Absent until every task has completed an
    /// episode, or until the first evaluation.
    #[serde(default)]
    pub(crate) score: Option<f64>,
    /// The newest evaluation during training.
    #[serde(default)]
    pub(crate) evaluation: Option<Evaluated>,
    /// The changes of settings so far.
    #[serde(default)]
    pub(crate) amendments: Vec<Amendment>,
    /// The moments at which the run started new episodes, because a checkpoint did not have their state.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) new_episodes: Vec<NewEpisodes>,
    pub(crate) telemetry: FilePositions,
}

impl Progress {
    /// The largest possible number of updates, steps and frames. Sums of two of them never overflow.
    const LIMIT: u64 = 1 << 53;

    /// Parses `progress.json`. Fails if a number is larger than any run reaches.
    pub(crate) fn parse(text: &[u8]) -> Result<Self> {
        let progress: Self = serde_json::from_slice(text).context("progress.json cannot be read")?;
        let Moment { updates, steps, frames, seconds } = progress.moment;
        let evaluated = progress.evaluation.as_ref().map_or(0, |evaluation| evaluation.frames);
        let largest = updates.max(steps).max(frames).max(evaluated);
        ensure!(
            largest <= Self::LIMIT,
            "progress.json has the number {largest}; at most {} is possible",
            Self::LIMIT
        );
        ensure!(
            (0.0..=Self::LIMIT as f64).contains(&seconds),
            "progress.json has {seconds} seconds of training; they must be between 0 and {}",
            Self::LIMIT
        );
        Ok(progress)
    }
}

/// The time and the result of an evaluation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Evaluated {
    /// The number of emulated frames of training before it.
    pub(crate) frames: u64,
    /// The score of the agent (`Games::score`).
    pub(crate) score: f64,
    /// The mean return of each task. Older checkpoints do not have it.
    #[serde(default)]
    pub(crate) returns: Vec<f64>,
}

// The files of a checkpoint, besides the manifest.
pub(crate) const CONFIG: &str = "config.toml";
const PROGRESS: &str = "progress.json";
pub(crate) const LEARNER: &str = "learner.bin";
const ENVIRONMENTS: &str = "environments.bin";

/// All files except the manifest.
#[cfg(any(test, fuzzing))]
pub(crate) const FILES: [&str; 4] = [CONFIG, PROGRESS, LEARNER, ENVIRONMENTS];

/// Reads a manifest, as loading a checkpoint does first.
#[cfg(any(test, fuzzing))]
pub(crate) fn parse_manifest(bytes: &[u8]) -> Result<()> {
    manifest::Manifest::parse(bytes).map(drop)
}

/// The state of a learner: either bytes, or the learner itself. A learner writes its own state, because a copy of its
/// replay buffer or rollout would double the memory in use.
pub(crate) trait LearnerState {
    fn write(&self, out: &mut dyn Write) -> Result<()>;
}

impl LearnerState for Vec<u8> {
    fn write(&self, out: &mut dyn Write) -> Result<()> {
        Ok(out.write_all(self)?)
    }
}

impl<S: LearnerState> LearnerState for &S {
    fn write(&self, out: &mut dyn Write) -> Result<()> {
        (*self).write(out)
    }
}

impl<L: LearnerState> Checkpoint<L> {
    /// Writes the files into a directory.
    pub(crate) fn write_into(&self, directory: &Path) -> Result<()> {
        let progress = serde_json::to_vec_pretty(&self.progress)?;
        let mut manifest = Manifest::new();
        for (name, bytes) in
            [(CONFIG, self.config.as_bytes()), (PROGRESS, &progress), (ENVIRONMENTS, &self.environments)]
        {
            manifest.write(directory, name, |out| Ok(out.write_all(bytes)?))?;
        }
        manifest.write(directory, LEARNER, |out| self.learner.write(out))?;
        manifest.finish(directory)
    }
}

impl Checkpoint {
    pub(crate) fn from_files(mut read: impl FnMut(&'static str) -> Result<Vec<u8>>) -> Result<Self> {
        Ok(Self {
            config: String::from_utf8(read(CONFIG)?).context("config.toml is not UTF-8")?,
            progress: Progress::parse(&read(PROGRESS)?)?,
            learner: read(LEARNER)?,
            environments: read(ENVIRONMENTS)?,
        })
    }
}
