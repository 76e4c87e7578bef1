//! Atari games with their ROMs.

use std::sync::Arc;

use ale::Game;
use anyhow::Result;

use crate::global::Global;
use crate::rom_sources;

/// A game with its ROM.
#[derive(Clone)]
pub(crate) struct GameWithRom {
    pub(crate) game: &'static Game,
    pub(crate) rom: Arc<[u8]>,
}

/// Returns the games with their ROMs. Downloads missing ROMs unless `--offline` is set.
pub(crate) fn with_roms(games: &[&'static Game], global: &Global) -> Result<Vec<GameWithRom>> {
    let (sources, pip) = (rom_sources::sources(global), rom_sources::pip(global));
    games.iter().map(|&game| Ok(GameWithRom { game, rom: sources.obtain(game.id, pip.as_ref())? })).collect()
}
