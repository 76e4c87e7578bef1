//! What a caller needs to know about runs and settings before it builds a command.

use std::ffi::OsString;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::error::CallError;
use crate::checkpoint;
use crate::cli::{self, Cli, Command, TrainCommand};
use crate::config::key_of_flag;
use crate::enclosure;
use crate::files::limit;
use crate::learner::Algorithm;
use crate::telemetry::Printer;
use crate::train::Planned;

/// The progress of a run at its newest checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Emulated frames over all environments.
    pub frames: u64,
    /// Steps over all environments.
    pub steps: u64,
    /// The number of updates.
    pub updates: u64,
}

/// Returns the progress of a run, or nothing if it has no checkpoint yet.
pub fn progress(run_dir: impl AsRef<Path>) -> Result<Option<Progress>, CallError> {
    let summary = checkpoint::summary_of_newest(run_dir.as_ref())?;
    Ok(summary.map(|summary| {
        let moment = summary.progress.moment;
        Progress { frames: moment.frames, steps: moment.steps, updates: moment.updates }
    }))
}

/// Returns the experiment of a run as JSON: that of its newest checkpoint, or else that of its start.
pub fn experiment(run_dir: impl AsRef<Path>) -> Result<String, CallError> {
    Ok(read_experiment(run_dir.as_ref())?)
}

fn read_experiment(run_dir: &Path) -> Result<String> {
    let text = if let Some(summary) = checkpoint::summary_of_newest(run_dir)? {
        summary.config
    } else {
        let path = run_dir.join(checkpoint::CONFIG);
        enclosure::read_text(run_dir, &path, limit::EXPERIMENT)
            .with_context(|| format!("cannot read {}", path.display()))?
    };
    json_of(&text)
}

/// Converts an experiment in TOML to JSON.
pub(super) fn json_of(experiment: &str) -> Result<String> {
    let experiment: toml::Table = toml::from_str(experiment)?;
    Ok(serde_json::to_string(&experiment)?)
}

/// Parses the arguments of a training command, without the name of the program.
pub(super) fn training_command(arguments: Vec<OsString>) -> Result<TrainCommand, CallError> {
    let cli = cli::parse([OsString::from("ale-train")].into_iter().chain(arguments))?;
    match cli {
        Cli { command: Command::Train(command), .. } => Ok(command),
        _ => Err(CallError::Arguments("the command does not train".to_owned())),
    }
}

/// Returns the experiment that a training command describes, as JSON.
pub fn planned_experiment(arguments: Vec<OsString>) -> Result<String, CallError> {
    let experiment = Planned::of(&training_command(arguments)?, &Printer::Quiet)?.experiment;
    Ok(json_of(&experiment.to_toml()?)?)
}

/// Returns the key of an experiment that a short name such as `learning_rate` means for an algorithm. A name with dots
/// is a key already.
pub fn key_of_setting(name: &str, algorithm: &str) -> Result<String, CallError> {
    Ok(found_key(name, algorithm)?)
}

fn found_key(name: &str, algorithm: &str) -> Result<String> {
    if name.contains('.') {
        return Ok(name.to_owned());
    }
    let known = Algorithm::ALL.iter().copied().find(|known| known.name() == algorithm);
    let known = known.with_context(|| format!("{algorithm} is not an algorithm"))?;
    let exact = key_of_flag(name, Some(known), false).filter(|key| key.has_same_values);
    if let Some(key) = exact {
        return Ok(key.key);
    }
    let near = key_of_flag(name, Some(known), true);
    ensure!(near.is_some(), "{name} is not a setting of {algorithm}");
    let near = near.map(|key| key.key).unwrap_or_default();
    anyhow::bail!("{name} is not a setting of {algorithm}; did you mean {near}?")
}
