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
mod card;
mod checkpoint;
mod cli;
mod cluster;
mod commands;
mod config;
mod contest;
mod device;
mod drawing;
mod durable;
pub mod embedding;
mod enclosure;
mod environments;
mod evaluation;
mod failure;
mod file_format;
mod files;
mod font;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod game_mode;
mod global;
mod initial_weights;
mod interrupt;
mod interval;
mod learner;
mod memory;
mod mujoco_tasks;
mod onnx;
mod output;
mod page;
mod play;
mod plot;
mod program;
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
mod terminal;
mod threads;
mod tracking;
mod train;
mod version;
mod watch;
mod zoo_agents;

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;

use cluster::Job;
use output::StandardOutput;

/// Runs the command of the arguments, the first of which is the name of the program. Returns its exit status.
///
/// `program` is the file that starts the program, also as a child process.
#[must_use]
pub fn main(program: PathBuf, arguments: Vec<OsString>) -> u8 {
    allocator::keep_freed_memory();
    program::set(program);
    if cli::complete::answers(&arguments) {
        return 0;
    }
    let handling = interrupt::handle_signals();
    let is_plain = arguments.iter().all(|argument| !argument.to_string_lossy().contains(output::is_control));
    let cli = match cli::parse(arguments) {
        Ok(cli) => cli,
        Err(error) => cli::exit(&error, is_plain),
    };
    let mut out = StandardOutput(io::stdout().lock());
    let outcome = handling.and_then(|()| {
        let job = Job::join()?;
        let outcome = commands::run(cli, &mut out).and_then(|()| Ok(out.flush()?));
        job.leave(&outcome)?;
        outcome
    });
    failure::exit_status(outcome)
}
