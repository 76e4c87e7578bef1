//! The file of the program, which starts child processes.

use std::path::PathBuf;
use std::sync::OnceLock;

use anyhow::{Context, Result};

static FILE: OnceLock<PathBuf> = OnceLock::new();

/// Sets the file. Only the first call has an effect.
pub(crate) fn set(file: PathBuf) {
    let _ = FILE.set(file);
}

/// Returns the file.
pub(crate) fn file() -> Result<PathBuf> {
    FILE.get().cloned().context("cannot find the running program")
}
