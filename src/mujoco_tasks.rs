//! MuJoCo's library and models, which are downloaded when a task first needs them.

use std::sync::LazyLock;

use anyhow::Result;
use mujoco::{Installation, Pip};

use crate::global::Global;
use crate::output::notice;

/// Returns the user's installation, which may be incomplete.
pub(crate) fn installation() -> &'static Installation {
    // Without a directory for it, the tasks can still be listed; `obtain` fails before a run creates one of them.
    static INSTALLATION: LazyLock<Installation> =
        LazyLock::new(|| Installation::locate(None).unwrap_or_else(|_| Installation::new("mujoco")));
    &INSTALLATION
}

/// Completes the installation. Nothing is downloaded with `--offline`. Returns an error if nothing names a directory
/// for the installation.
pub(crate) fn obtain(global: &Global) -> Result<()> {
    Installation::locate(None)?;
    if global.offline {
        return Ok(());
    }
    let announce = if global.quiet { |_: &str| () } else { |line: &str| notice(line) };
    Ok(installation().fetch(&Pip::new(announce))?)
}
