use std::time::Duration;

use anyhow::{Result, bail};

use crate::cli::{BenchSize, BenchSubject, Global};
use crate::environments::{GameWithRom, with_roms};
use crate::selection;
use crate::threads::cores;

impl BenchSubject {
    /// Returns the games with their ROMs.
    pub(super) fn games(&self, global: &Global) -> Result<Vec<GameWithRom>> {
        let modes = selection::game_modes(self.games.iter().map(String::as_str))?;
        if let Some(mode) = modes.iter().find(|mode| mode.deviates() || mode.players > 1) {
            bail!("{} is not possible: benchmarks run games of one player in their default modes", mode.id())
        }
        with_roms(&modes.iter().map(|mode| mode.game).collect::<Vec<_>>(), global)
    }

    /// Returns the duration of a measurement.
    pub(super) fn duration(&self) -> Duration {
        Duration::from_secs_f64(self.seconds)
    }
}

impl BenchSize {
    /// Returns the number of threads, at most the number of cores.
    pub(super) fn num_threads(&self) -> usize {
        self.num_threads.unwrap_or_else(cores).min(cores())
    }
}
