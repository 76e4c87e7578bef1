//! The creation of runs.

use std::fs;
use std::path::{self, Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use super::run_directory::{PROVENANCE, cannot_create, checkpoints_of, newest_first};
use super::{CONFIG, lock};
use crate::durable;
use crate::output::quoted;
use crate::telemetry::Telemetry;

/// Creates the directory of a new run with its configuration and provenance. Fails if the directory contains a run.
pub(crate) fn create_run(run_dir: &Path, config: &str, provenance: &str) -> Result<()> {
    check_unused(run_dir)?;
    fs::create_dir_all(run_dir).with_context(|| cannot_create(run_dir))?;
    // Another process may be creating a run in the same directory.
    let _lock = lock::acquire(run_dir)?;
    check_unused(run_dir)?;
    durable::write_inside(run_dir, &run_dir.join(PROVENANCE), provenance.as_bytes())
        .and_then(|()| durable::write_inside(run_dir, &run_dir.join(CONFIG), config.as_bytes()))
        .with_context(|| cannot_create(run_dir))
}

/// Checks that a new run would neither mix its files with others nor hide other runs from commands.
fn check_unused(run_dir: &Path) -> Result<()> {
    // Checkpoints count even without a configuration file: they would mix with those of the new run.
    let has_checkpoints = newest_first(run_dir).is_ok_and(|checkpoints| !checkpoints.is_empty());
    ensure!(
        !run_dir.join(CONFIG).exists() && !has_checkpoints,
        "{} contains a run; continue it with `ale-train resume {0}`, or choose another --run-dir",
        quoted(run_dir)
    );
    // Commands do not look for runs inside a run.
    if let Some(outer) = enclosing_run(run_dir)? {
        bail!("{} is inside the run {}; choose another --run-dir", run_dir.display(), outer.display())
    }
    ensure!(
        !contains_runs(run_dir) && !contains_runs(&checkpoints_of(run_dir)?),
        "{} contains other runs; choose a new directory, such as --run-dir {}",
        run_dir.display(),
        quoted(&run_dir.join("NAME"))
    );
    // They may be of a run whose configuration was removed, or of another program.
    let has_contents = |name: &str| fs::metadata(run_dir.join(name)).is_ok_and(|file| file.len() > 0);
    if let Some(name) = Telemetry::FILES.into_iter().find(|name| has_contents(name)) {
        bail!(
            "{} contains {name}, which the run would overwrite; choose another --run-dir",
            run_dir.display()
        );
    }
    Ok(())
}

/// Returns true if a subdirectory is a run.
fn contains_runs(directory: &Path) -> bool {
    fs::read_dir(directory).is_ok_and(|entries| entries.flatten().any(|entry| is_run(&entry.path())))
}

/// Returns the run that a directory is inside of, if there is one.
fn enclosing_run(directory: &Path) -> Result<Option<PathBuf>> {
    let directory = path::absolute(directory)?;
    Ok(directory.ancestors().skip(1).find(|outer| is_run(outer)).map(Path::to_owned))
}

fn is_run(directory: &Path) -> bool {
    [CONFIG, PROVENANCE].iter().all(|name| directory.join(name).exists())
}
