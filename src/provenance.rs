//! The provenance of a run: the program, its commit and the ROMs.

use ale::roms::Md5Sum;
use anyhow::Result;
use serde_json::json;

use crate::environments::Builder;
use crate::version::{COMMIT, PROGRAM};

/// Returns the contents of `run.json` in the directory of a run.
pub(crate) fn of_run(builder: &Builder) -> Result<String> {
    let games: Vec<_> = builder
        .roms()
        .map(|(game, rom)| json!({ "id": game.id, "rom_md5": Md5Sum::of(rom).to_string() }))
        .collect();
    let run = json!({ "program": PROGRAM, "commit": COMMIT, "games": games });
    Ok(format!("{}\n", serde_json::to_string_pretty(&run)?))
}
