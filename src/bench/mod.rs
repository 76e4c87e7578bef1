//! `ale-train bench`: how fast the emulator, the vector environment and the learner are on this machine.
//!
//! Warming up is no part of any figure: the code of a ROM that is executed often becomes native code on the way.

mod arguments;
mod emulator;
mod env;
mod format;
mod learner;
mod random_play;
mod rom_counts;
mod scaling;

use std::io::Write;

use anyhow::Result;

use crate::cli::{BenchArgs, BenchCommand, Global};

pub(crate) use rom_counts::RomCounts;

/// Runs a subcommand.
pub(crate) fn run(args: &BenchArgs, global: &Global, out: &mut impl Write) -> Result<()> {
    match &args.command {
        BenchCommand::Emulator(args) => emulator::run(args, global, out),
        BenchCommand::Env(args) => env::run(args, global, out),
        BenchCommand::Learner(args) => learner::run(args, global, out),
    }
}
