//! `ale-train` trains reinforcement learning agents on real Atari 2600 games.
//!
//! Only this crate uses the terminal, clocks and the directories of runs; everything else is in library crates.

// A run must survive failures to print: see `output`.
#![warn(clippy::print_stderr, clippy::print_stdout)]
// Files may come from others: see `files`.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod agent;
mod allocator;
mod bench;
mod checkpoint;
mod cli;
mod cluster;
mod commands;
mod config;
mod device;
mod durable;
mod enclosure;
mod environments;
mod evaluation;
mod failure;
mod file_format;
mod files;
mod font;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod global;
mod initial_weights;
mod interrupt;
mod interval;
mod learner;
mod memory;
mod mujoco_tasks;
mod output;
mod play;
mod plot;
mod provenance;
mod quantity;
mod recent_returns;
mod record;
mod report;
mod rom_sources;
mod runs;
mod scores;
mod selection;
mod show;
mod signal;
#[cfg(test)]
#[path = "../tests/program/skip.rs"]
mod skip;
mod statistics;
mod sweep;
mod table;
mod telemetry;
mod tensors;
mod threads;
mod train;
mod version;
mod zoo_agents;

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::{Result, bail};

use cli::{Cli, Command};
use cluster::Job;
use output::StandardOutput;

/// Runs the command of the program's arguments. Returns its exit status.
#[must_use]
pub fn main() -> ExitCode {
    allocator::keep_freed_memory();
    cli::complete::answer();
    let handling = interrupt::handle_signals();
    let cli = match cli::parse(std::env::args_os()) {
        Ok(cli) => cli,
        Err(error) => cli::exit(&error),
    };
    let mut out = StandardOutput(io::stdout().lock());
    let outcome = handling.and_then(|()| {
        let job = Job::join()?;
        let outcome = run(cli, &mut out).and_then(|()| Ok(out.flush()?));
        job.leave(&outcome)?;
        outcome
    });
    failure::exit_code(outcome)
}

fn run(cli: Cli, out: &mut impl Write) -> Result<()> {
    let Cli { command, global } = cli;
    if let (Some(peers), false) = (cluster::peers(), command.may_have_peers()) {
        bail!(
            "a launcher has started {} processes, but only training, `resume` and `bench cluster` use several",
            peers.size()
        );
    }
    match command {
        Command::Train(command) => train::start(&command, &global, out),
        Command::Resume(args) => train::resume(&args, &global, out),
        Command::Checkpoint(args) => commands::checkpoint::run(&args, &global, out),
        Command::Sweep(args) => sweep::run(&args, &global, out),
        Command::Runs(args) => runs::run(&args, out),
        Command::Eval(args) => evaluation::run(&args, &global, out),
        Command::Export(args) => commands::export::run(&args, &global, out),
        Command::Record(args) => record::run(&args, &global, out),
        Command::Play(args) => play::run(&args, &global, out),
        Command::Report(args) => report::run(&args, &global, out),
        Command::Roms(args) => commands::roms::run(args, &global, out),
        Command::Games(args) => commands::games::run(&args, out),
        Command::Presets(args) => commands::presets::run(&args, out),
        Command::Zoo(args) => commands::zoo::run(&args, out),
        Command::Trace(args) => commands::trace::run(&args, &global, out),
        Command::Config(args) => commands::config::run(&args, out),
        Command::Bench(args) => bench::run(&args, &global, out),
        Command::Completions(args) => Ok(out.write_all(&cli::complete::script(args.shell)?)?),
        Command::Man(args) => commands::man::run(&args),
    }
}
