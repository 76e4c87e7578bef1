//! The packages of the running Python: its pip, which downloads ROMs and MuJoCo, and the ROMs of installed ones.

use std::path::PathBuf;

use ale::roms::{Pip, Python as Interpreter, RomSources};
use pyo3::prelude::*;
use rl_env::interrupt;

/// Returns the pip of `python`, which ends when the calling thread is interrupted.
pub(crate) fn pip(python: &str) -> Pip {
    let pip = Pip::new(|line| eprintln!("ale_train: {line}"));
    pip.with_interpreter(python).with_interrupt(interrupt::poll)
}

/// Returns all places where ROMs are found.
pub(crate) fn rom_sources(py: Python<'_>) -> PyResult<RomSources> {
    let path = py.import("sys")?.getattr("path")?;
    // Any object may be in the path. An empty one is the current directory.
    let directories = path.try_iter()?.filter_map(|entry| entry.ok()?.extract::<PathBuf>().ok());
    let directories = directories.filter(|directory| !directory.as_os_str().is_empty()).collect();
    Ok(RomSources::locate(None, Interpreter::Running(directories)))
}
