use std::num::NonZeroUsize;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::cli::{BenchSize, BenchSubject, Global};
use crate::environments::{WithRom, with_roms};
use crate::selection;

impl BenchSubject {
    /// Returns the games with their ROMs.
    pub(super) fn games(&self, global: &Global) -> Result<Vec<WithRom>> {
        with_roms(&selection::games(self.games.iter().map(String::as_str))?, global)
    }

    /// Returns the duration of a measurement.
    pub(super) fn duration(&self) -> Result<Duration> {
        let duration = Duration::try_from_secs_f64(self.seconds).ok().filter(|duration| !duration.is_zero());
        duration
            .with_context(|| format!("--seconds {} is not possible: it must be greater than 0", self.seconds))
    }
}

impl BenchSize {
    /// Returns the number of environments of each game.
    pub(super) fn num_envs(&self) -> Result<usize> {
        ensure!(self.num_envs >= 1, "--num-envs 0 is not possible: it must be 1 or more");
        Ok(self.num_envs)
    }

    /// Returns the number of threads, at most the number of cores.
    pub(super) fn num_threads(&self) -> Result<usize> {
        ensure!(self.num_threads != Some(0), "--num-threads 0 is not possible: it must be 1 or more");
        let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        Ok(self.num_threads.unwrap_or(cores).min(cores))
    }
}
