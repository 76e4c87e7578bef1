//! The provenance of a run: the program, its commit and the ROMs.

use ale::roms::Md5Sum;
use anyhow::Result;
use serde_json::json;

use crate::config::Chosen;
use crate::environments::Builder;
use crate::version::{COMMIT, PROGRAM};

/// Returns the contents of `run.json` in the directory of a run that starts from a preset, if it starts from one.
pub(crate) fn of_run(builder: &Builder, preset: Option<&Chosen>) -> Result<String> {
    let games: Vec<_> = builder
        .roms()
        .map(|(game, rom)| json!({ "id": game.id, "rom_md5": Md5Sum::of(rom).to_string() }))
        .collect();
    let run = json!({
        "program": PROGRAM,
        "commit": COMMIT,
        "preset": preset.map(|chosen| chosen.preset.name),
        "games": games,
    });
    Ok(format!("{}\n", serde_json::to_string_pretty(&run)?))
}
