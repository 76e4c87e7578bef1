//! Writing and reading of checkpoints.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::file_name::{PREFIX, sort_key};
use super::in_training;
use super::manifest::Manifest;
use super::run_directory::{checkpoints_of, is_before_first_checkpoint, newest_first, root_of};
use super::{CONFIG, Checkpoint, LearnerState, PROGRESS};
use crate::durable;
use crate::enclosure;
use crate::files::limit;

/// Writes a checkpoint of a run and returns its directory.
pub(super) fn save(run_dir: &Path, checkpoint: &Checkpoint<impl LearnerState>) -> Result<PathBuf> {
    let parent = checkpoints_of(run_dir)?;
    let directory = parent.join(next_name(run_dir, checkpoint.progress.moment.updates));
    write(&parent, &directory, checkpoint)
        .with_context(|| format!("cannot write the checkpoint {}", directory.display()))?;
    Ok(directory)
}

fn write(parent: &Path, directory: &Path, checkpoint: &Checkpoint<impl LearnerState>) -> Result<()> {
    fs::create_dir_all(parent)?;
    durable::write_directory(directory, |partial| checkpoint.write_into(partial))
}

/// Returns the name of the next checkpoint after `updates` updates. There may be several: one is written whenever the
/// run stops or a setting changes. The names continue those of the remaining checkpoints, because the names of removed
/// ones would make the new checkpoint the oldest.
fn next_name(run_dir: &Path, updates: u64) -> String {
    let existing = newest_first(run_dir).unwrap_or_default();
    let newest = existing.iter().filter_map(|path| sort_key(path)).find(|key| key.0 == updates);
    match newest {
        None => format!("{PREFIX}{updates:08}"),
        Some((_, index)) => format!("{PREFIX}{updates:08}.{:03}", index + 1),
    }
}

/// Returns the newest checkpoint of a run, or `path` if it is a checkpoint.
pub(super) fn latest(path: &Path) -> Result<PathBuf> {
    if path.join(Manifest::FILE).exists() {
        return Ok(path.to_owned());
    }
    ensure!(path.exists(), "{} does not exist", path.display());
    checkpoints_of_begun(path)?
        .into_iter()
        .next()
        .with_context(|| format!("the run {} has no checkpoint yet", path.display()))
}

/// Returns the checkpoints of a run, the newest first. The error about a run before its first one says when that comes.
pub(super) fn checkpoints_of_begun(run_dir: &Path) -> Result<Vec<PathBuf>> {
    ensure!(!is_before_first_checkpoint(run_dir), in_training::without_checkpoint(run_dir));
    newest_first(run_dir)
}

/// Reads the newest checkpoint of a run, or `path` if it is a checkpoint. If the newest checkpoint of a run is damaged,
/// reads the newest intact one and calls `warn` with the reason.
pub(crate) fn load_latest(path: &Path, warn: impl Fn(&str)) -> Result<(PathBuf, Checkpoint)> {
    let newest = latest(path)?;
    let error = match load(&newest) {
        Ok(checkpoint) => return Ok((newest, checkpoint)),
        Err(error) => error,
    };
    if newest == path {
        return Err(error);
    }
    for older in newest_first(path)?.into_iter().skip(1) {
        if let Ok(checkpoint) = load(&older) {
            warn(&format!("{error:#}; using {} instead", older.display()));
            return Ok((older, checkpoint));
        }
    }
    Err(error)
}

/// Reads a checkpoint and verifies every byte.
pub(crate) fn load(directory: &Path) -> Result<Checkpoint> {
    load_verified(directory).with_context(|| unusable(directory))
}

fn load_verified(directory: &Path) -> Result<Checkpoint> {
    let manifest = Manifest::parse(&read(directory, Manifest::FILE)?)?;
    Checkpoint::from_files(|name| {
        let contents = read(directory, name)?;
        manifest.verify(name, &contents)?;
        Ok(contents)
    })
}

/// Reads a file of a checkpoint.
pub(super) fn read(directory: &Path, name: &str) -> Result<Vec<u8>> {
    let most = match name {
        Manifest::FILE => limit::MANIFEST,
        CONFIG => limit::EXPERIMENT,
        PROGRESS => limit::PROGRESS,
        _ => limit::STATE,
    };
    let root = root_of(directory);
    enclosure::read(&root, &directory.join(name), most).with_context(|| format!("{name} cannot be read"))
}

/// Returns the opening of every error about the contents of a checkpoint.
pub(crate) fn unusable(directory: &Path) -> String {
    format!("the checkpoint {} cannot be used", directory.display())
}
