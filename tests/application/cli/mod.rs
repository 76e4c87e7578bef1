//! The command line: its error messages, and the output of its smaller commands.

mod bench;
mod completions;
mod errors;
mod experiment;
mod lists;
#[cfg(unix)]
mod mujoco_directory;
#[cfg(unix)]
mod terminal;
mod trace;

use std::process::Output;

use crate::program::run;

fn output(arguments: &[&str]) -> Output {
    run("").args(arguments).output()
}

/// Returns the error message. Asserts exit code 2 and an empty standard output.
fn error(arguments: &[&str]) -> String {
    run("").args(arguments).fail(2)
}
