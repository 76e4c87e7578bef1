//! The contents of `run.json`, to which a run adds what happens after its start.

use std::io;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Map, Value};

use super::run_directory::PROVENANCE;
use crate::durable;
use crate::enclosure;
use crate::files::limit;

/// Returns the contents of `run.json`, or an empty map if there is no such file.
pub(super) fn read(run_dir: &Path) -> Result<Map<String, Value>> {
    let path = run_dir.join(PROVENANCE);
    match enclosure::read(run_dir, &path, limit::PROVENANCE) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Map::new()),
        // The contents may be intact: there may be too many open files.
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
        Ok(text) => serde_json::from_slice(&text).with_context(|| damaged(run_dir)),
    }
}

/// Replaces the contents of `run.json`.
pub(super) fn write(run_dir: &Path, provenance: &Map<String, Value>) -> Result<()> {
    let text = format!("{}\n", serde_json::to_string_pretty(provenance)?);
    durable::write_inside(run_dir, &run_dir.join(PROVENANCE), text.as_bytes())
        .with_context(|| cannot_write(run_dir))
}

pub(super) fn cannot_write(run_dir: &Path) -> String {
    format!("cannot write the run directory {}", run_dir.display())
}

pub(super) fn damaged(run_dir: &Path) -> String {
    format!(
        "cannot parse {}; repair it, or replace its contents by {{}} to give up the provenance of the run",
        run_dir.join(PROVENANCE).display()
    )
}
