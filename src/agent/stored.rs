use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::{TrainedAgent, Weights};
use crate::checkpoint::{self, Checkpoint};
use crate::cli::CheckpointArgs;
use crate::config::{self, Config, Experiment};
use crate::provenance::Provenance;
use crate::scores::FinalScores;
use crate::telemetry::Printer;

/// A checkpoint and its experiment.
pub(crate) struct StoredAgent {
    /// The directory of the checkpoint.
    pub(crate) directory: PathBuf,
    pub(crate) checkpoint: Checkpoint,
    pub(crate) experiment: Experiment,
}

impl StoredAgent {
    /// Opens the checkpoint that the flags choose. If its run is in training, says how old the checkpoint is.
    pub(crate) fn open(args: &CheckpointArgs, printer: &Printer) -> Result<Self> {
        let (directory, checkpoint) = load_chosen(args)?;
        if let Some(line) = checkpoint::age_in_training(&args.checkpoint, &directory) {
            printer.say(&line);
        }
        Self::new(directory, checkpoint)
    }

    /// Opens a checkpoint, or the newest intact one of a run. Calls `warn` for each damaged one.
    pub(crate) fn open_newest(path: &Path, warn: impl Fn(&str)) -> Result<Self> {
        let (directory, checkpoint) = checkpoint::load_latest(path, warn)?;
        Self::new(directory, checkpoint)
    }

    pub(crate) fn new(directory: PathBuf, checkpoint: Checkpoint) -> Result<Self> {
        let experiment = config::from_toml(&checkpoint.config).and_then(Config::resolve);
        let experiment = experiment.with_context(|| checkpoint::unusable(&directory))?;
        Ok(Self { directory, checkpoint, experiment })
    }

    /// Returns the opening of every error about the contents of the checkpoint.
    pub(crate) fn unusable(&self) -> String {
        checkpoint::unusable(&self.directory)
    }
}

/// Reads the checkpoint that the flags choose. A run in training may remove it meanwhile; then it has a newer one.
fn load_chosen(args: &CheckpointArgs) -> Result<(PathBuf, Checkpoint)> {
    let chosen = || checkpoint::chosen(&args.checkpoint, args.best);
    let directory = chosen()?;
    match checkpoint::load(&directory) {
        Err(_) if !directory.exists() => {
            let newer = chosen()?;
            Ok((newer.clone(), checkpoint::load(&newer)?))
        }
        loaded => Ok((directory, loaded?)),
    }
}

impl From<StoredAgent> for TrainedAgent {
    fn from(StoredAgent { directory, checkpoint, experiment }: StoredAgent) -> Self {
        let frames = checkpoint.progress.moment.frames;
        let run_dir = checkpoint::run_of(&directory);
        let scores = |run_dir: &Path| FinalScores::read(run_dir, frames, &experiment.games.names());
        Self {
            commit: run_dir.as_deref().and_then(|run_dir| Provenance::read(run_dir).ok()?.commit),
            scores: run_dir.as_deref().and_then(scores),
            origin: directory,
            experiment,
            frames,
            weights: Weights::State(checkpoint.learner),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoint::Progress;

    #[test]
    fn an_unknown_key_is_an_error_of_the_checkpoint() {
        let checkpoint = Checkpoint {
            config: "[ppo]\nkey_of_another_version = 1\n".to_owned(),
            progress: Progress::default(),
            learner: Vec::new(),
            environments: Vec::new(),
        };
        let error = StoredAgent::new(PathBuf::from("run/checkpoints/7"), checkpoint).err().expect("an error");
        let error = format!("{error:#}");
        assert!(error.contains("run/checkpoints/7"), "{error}");
        assert!(error.contains("ppo.key_of_another_version"), "{error}");
    }
}
