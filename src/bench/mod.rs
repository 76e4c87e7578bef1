//! `ale-train bench`: how fast the emulator, the vector environment and the learner are on this machine.
//!
//! Warming up is no part of any figure: the code of a ROM that is executed often becomes native code on the way.

mod emulator;
mod env;
mod learner;
mod plot;
mod random_play;
mod statistics;
mod sweep;

use std::io::Write;
use std::num::NonZeroUsize;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::cli::{BenchArgs, BenchCommand, BenchCrew, BenchSubject, Global};
use crate::environments::{WithRom, with_roms};
use crate::selection;

pub(crate) use sweep::SweepRange;

/// Seed of everything random.
const SEED: u64 = 1;
/// Steps of each game before anything is measured; four frames each. By then rates have settled.
const WARM_UP_STEPS: usize = 2_000;

/// Runs a subcommand.
pub(crate) fn run(args: &BenchArgs, global: &Global, out: &mut impl Write) -> Result<()> {
    match &args.command {
        BenchCommand::Emulator(args) => emulator::run(args, global, out),
        BenchCommand::Env(args) => env::run(args, global, out),
        BenchCommand::Learner(args) => learner::run(args, global, out),
    }
}

impl BenchSubject {
    /// The games with their ROMs.
    fn games(&self, global: &Global) -> Result<Vec<WithRom>> {
        with_roms(&selection::games(self.games.iter().map(String::as_str))?, global)
    }

    /// How long a measurement lasts.
    fn duration(&self) -> Result<Duration> {
        let duration = Duration::try_from_secs_f64(self.seconds).ok().filter(|duration| !duration.is_zero());
        duration
            .with_context(|| format!("--seconds {} is not possible: it must be more than 0", self.seconds))
    }
}

impl BenchCrew {
    /// Environments of each game.
    fn num_envs(&self) -> Result<usize> {
        ensure!(self.num_envs >= 1, "--num-envs 0 is not possible: it must be 1 or more");
        Ok(self.num_envs)
    }

    /// Threads, not more than there are cores.
    fn num_threads(&self) -> Result<usize> {
        ensure!(self.num_threads != Some(0), "--num-threads 0 is not possible: it must be 1 or more");
        let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        Ok(self.num_threads.unwrap_or(cores).min(cores))
    }
}

fn print_json(report: &serde_json::Value, out: &mut impl Write) -> Result<()> {
    writeln!(out, "{}", serde_json::to_string_pretty(report)?)?;
    Ok(())
}

/// A number of a table: nobody reads the decimals of thousands.
fn rate(value: f64) -> String {
    if value < 100.0 { format!("{value:.1}") } else { format!("{value:.0}") }
}
