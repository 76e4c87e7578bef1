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

use crate::program::{ale_train, fail};

fn output(arguments: &[&str]) -> Output {
    ale_train().args(arguments).output().expect("the program starts")
}

/// Returns the error message. Asserts exit code 2 and an empty standard output.
fn error(arguments: &[&str]) -> String {
    fail(ale_train().args(arguments), 2)
}
