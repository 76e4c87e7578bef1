//! Checkpoints that a run abandons because it continues from an older one.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::CONFIG;
use super::file_name::sort_key;
use super::run_directory::{PROVENANCE, checkpoints_of, create_unused, newest_first, subdirectory};
use crate::durable;
use crate::enclosure;
use crate::scores::FinalScores;
use crate::telemetry::Telemetry;

/// The subdirectory of a run for checkpoints that it has abandoned.
const ABANDONED: &str = "abandoned";

/// Moves the checkpoints that are newer than `checkpoint` into a subdirectory, with copies of the run's other files, so
/// that they form a separate run. Otherwise a run that continues from an older checkpoint would mistake them for its
/// newest ones. Returns the subdirectory if there is a newer checkpoint.
pub(super) fn abandon_newer(run_dir: &Path, checkpoint: &Path) -> Result<Option<PathBuf>> {
    // The path may be a symbolic link.
    let key = fs::canonicalize(checkpoint).ok().and_then(|checkpoint| sort_key(&checkpoint));
    let checkpoints = checkpoints_of(run_dir)?;
    let Some(key) = key.filter(|_| checkpoints.is_dir()) else { return Ok(None) };
    let newer: Vec<PathBuf> = newest_first(run_dir)?
        .into_iter()
        .take_while(|path| sort_key(path).is_some_and(|newer| newer > key))
        .collect();
    if newer.is_empty() {
        return Ok(None);
    }
    let abandoned = create_unused(&subdirectory(run_dir, ABANDONED)?.join("run"))?;
    move_to_run(run_dir, &newer, &abandoned)
        .with_context(|| format!("cannot move newer checkpoints to {}", abandoned.display()))?;
    Ok(Some(abandoned))
}

/// Moves checkpoints of a run to the directory `abandoned`, and copies the run's other files to it.
fn move_to_run(run_dir: &Path, newer: &[PathBuf], abandoned: &Path) -> Result<()> {
    let checkpoints = checkpoints_of(abandoned)?;
    fs::create_dir_all(&checkpoints)?;
    for name in [CONFIG, PROVENANCE, FinalScores::FILE].into_iter().chain(Telemetry::FILES) {
        match enclosure::copy(run_dir, &run_dir.join(name), &abandoned.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("cannot copy {name}"));
            }
            _ => {}
        }
    }
    for checkpoint in newer {
        let Some(name) = checkpoint.file_name() else { continue };
        enclosure::check(run_dir, checkpoint)?;
        durable::move_directory(run_dir, checkpoint, &checkpoints.join(name))?;
    }
    Ok(())
}
