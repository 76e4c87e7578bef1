//! The places where ROMs are found.

use ale::roms::{Pip, Python, RomSources, RomStore};
use anyhow::Result;

use crate::global::Global;
use crate::output::notice;

/// Opens the store that the flags and the environment select.
pub(crate) fn store(global: &Global) -> Result<RomStore> {
    Ok(RomStore::locate(global.rom_dir.as_deref())?)
}

/// Returns all places where ROMs are found.
pub(crate) fn sources(global: &Global) -> RomSources {
    RomSources::locate(global.rom_dir.as_deref(), Python::OfPip(announcing_pip(global)))
}

/// Returns the means of downloading missing ROMs, or nothing with `--offline`.
pub(crate) fn pip(global: &Global) -> Option<Pip> {
    (!global.offline).then(|| announcing_pip(global))
}

fn announcing_pip(global: &Global) -> Pip {
    let announce = if global.quiet { |_: &str| () } else { |line: &str| notice(line) };
    Pip::new(announce)
}
