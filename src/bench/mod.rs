//! `ale-train bench`: the speed of the emulator, the vector environment and the learner on this machine.
//!
//! Every measurement excludes a warm-up, during which hot code of the ROM is translated to native code.

mod arguments;
mod cluster;
mod emulator;
mod env;
mod format;
mod learner;
mod random_play;

use std::io::Write;

use anyhow::{Result, ensure};

use crate::cli::{BenchArgs, BenchCommand, Global};
use crate::config::Experiment;

/// Runs the chosen benchmark.
pub(crate) fn run(args: &BenchArgs, global: &Global, out: &mut impl Write) -> Result<()> {
    match &args.command {
        BenchCommand::Emulator(args) => emulator::run(args, global, out),
        BenchCommand::Env(args) => env::run(args, global, out),
        BenchCommand::Learner(args) => learner::run(args, global, out),
        BenchCommand::Cluster(args) => cluster::run(args, global, out),
    }
}

/// Fails if two halves of the environments take turns: the benchmarks of learners step all environments together.
fn check_steps_together(experiment: &Experiment) -> Result<()> {
    ensure!(
        !experiment.environments.take_turns(),
        "environments.halves = true is not possible here: the benchmark steps all environments together"
    );
    Ok(())
}
