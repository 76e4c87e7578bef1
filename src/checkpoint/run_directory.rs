//! The directory of a run: its files, its checkpoints, and the way from a checkpoint to its run.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::CONFIG;
use super::file_name::sort_key;
use super::manifest::Manifest;
use crate::enclosure;
use crate::output::counted;

/// The subdirectory of a run that contains its checkpoints.
pub(super) const CHECKPOINTS: &str = "checkpoints";
/// The file with the provenance of a run.
pub(crate) const PROVENANCE: &str = "run.json";

/// Creates an empty directory with this name, or with a number after it if there is one already. Two processes never
/// get the same directory.
pub(crate) fn create_unused(run_dir: &Path) -> Result<PathBuf> {
    create_first_unused(run_dir).with_context(|| cannot_create(run_dir))
}

fn create_first_unused(run_dir: &Path) -> io::Result<PathBuf> {
    if let Some(parent) = run_dir.parent() {
        fs::create_dir_all(parent)?;
    }
    let numbered = (2..).map(|number| {
        let mut name = run_dir.as_os_str().to_owned();
        name.push(format!("-{number}"));
        PathBuf::from(name)
    });
    for directory in std::iter::once(run_dir.to_owned()).chain(numbered) {
        match fs::create_dir(&directory) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            created => return created.map(|()| directory),
        }
    }
    unreachable!("the names never end")
}

pub(super) fn cannot_create(run_dir: &Path) -> String {
    format!("cannot write the run directory {}; choose another with --run-dir", run_dir.display())
}

/// Returns the directory with the checkpoints of a run, which may not exist. Fails if it is a symbolic link that leads
/// out of the run.
pub(super) fn checkpoints_of(run_dir: &Path) -> Result<PathBuf> {
    subdirectory(run_dir, CHECKPOINTS)
}

fn is_missing(error: &io::Error) -> bool {
    [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory].contains(&error.kind())
}

pub(super) fn subdirectory(run_dir: &Path, name: &str) -> Result<PathBuf> {
    let path = run_dir.join(name);
    match enclosure::check(run_dir, &path) {
        // There is no such run.
        Err(error) if !is_missing(&error) => {
            Err(error).with_context(|| format!("cannot use the run {}", run_dir.display()))
        }
        _ => Ok(path),
    }
}

/// Returns true if `path` is a run that has no checkpoint yet. Returns false if its directory of checkpoints cannot be
/// read or contains anything else: the run must not start again then.
pub(crate) fn is_before_first_checkpoint(path: &Path) -> bool {
    let Ok(checkpoints) = checkpoints_of(path) else { return false };
    // The directory of a checkpoint contains a configuration, but no provenance.
    [CONFIG, PROVENANCE].iter().all(|name| path.join(name).exists())
        && match fs::symlink_metadata(&checkpoints) {
            Err(error) => error.kind() == io::ErrorKind::NotFound,
            Ok(_) => {
                fs::read_dir(&checkpoints).is_ok_and(|mut entries| entries.all(|entry| is_hidden(&entry)))
            }
        }
}

fn is_hidden(entry: &io::Result<fs::DirEntry>) -> bool {
    entry.as_ref().is_ok_and(|entry| entry.file_name().as_encoded_bytes().starts_with(b"."))
}

/// Returns the run that `path` refers to: `path` itself, or the run of the checkpoint `path`.
pub(crate) fn run_at(path: &Path) -> Result<PathBuf> {
    if !path.join(Manifest::FILE).exists() {
        return Ok(path.to_owned());
    }
    run_of(path).with_context(|| {
        format!(
            "the checkpoint {0} is not in the directory of its run; start a new run with its weights: --init-from {0}",
            path.display()
        )
    })
}

/// Returns the directory of the run that a checkpoint belongs to, or `None` if the checkpoint is elsewhere, such as a
/// copy.
pub(crate) fn run_of(checkpoint: &Path) -> Option<PathBuf> {
    // Prefer the path as given, because messages repeat it.
    run_above(checkpoint).or_else(|| run_above(&fs::canonicalize(checkpoint).ok()?))
}

/// Returns the run in whose directory of checkpoints a path is, without following links.
fn run_above(checkpoint: &Path) -> Option<PathBuf> {
    let run = checkpoint.parent().filter(|parent| parent.ends_with(CHECKPOINTS))?.parent()?;
    let run = if run.as_os_str().is_empty() { Path::new(".") } else { run };
    run.join(CONFIG).is_file().then(|| run.to_owned())
}

/// Returns the checkpoints of a run, the newest first.
pub(super) fn newest_first(run_dir: &Path) -> Result<Vec<PathBuf>> {
    let checkpoints = match fs::read_dir(checkpoints_of(run_dir)?) {
        Ok(entries) => entries,
        Err(error) if is_missing(&error) => {
            bail!(
                "{} is neither a checkpoint nor a run with checkpoints{}",
                run_dir.display(),
                runs_near(run_dir)
            )
        }
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", run_dir.display())),
    };
    let paths = checkpoints.filter_map(|entry| Some(entry.ok()?.path()));
    let mut keyed: Vec<_> = paths.filter_map(|path| Some((sort_key(&path)?, path))).collect();
    keyed.sort_unstable_by(|a, b| b.cmp(a));
    Ok(keyed.into_iter().map(|(_, path)| path).collect())
}

/// Returns a remark about the runs in a directory, or about the run around it, which a command may have been meant for.
fn runs_near(directory: &Path) -> String {
    let is_run = |path: &PathBuf| !path.as_os_str().is_empty() && path.join(CONFIG).is_file();
    if let Some(run) = directory.ancestors().skip(1).map(Path::to_path_buf).find(is_run) {
        return format!("; the run around it is {}", run.display());
    }
    let entries = fs::read_dir(directory).into_iter().flatten();
    let runs: BTreeSet<PathBuf> =
        entries.filter_map(|entry| Some(entry.ok()?.path())).filter(is_run).collect();
    match runs.first() {
        Some(first) => format!("; it contains {}, such as {}", counted(runs.len(), "run"), first.display()),
        None => String::new(),
    }
}

/// Returns the directory that links in a checkpoint must not leave: its run, or the checkpoint itself if it is
/// elsewhere.
pub(super) fn root_of(checkpoint: &Path) -> PathBuf {
    run_of(checkpoint).unwrap_or_else(|| checkpoint.to_owned())
}
