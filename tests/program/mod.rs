//! Runs the `ale-train` binary from tests.

// Every test binary compiles this module and uses a part of it.
#![allow(dead_code, unused_imports)]

mod line;
mod runs;
mod skip;
mod succeed;

use std::process::Command;

pub(crate) use line::{Line, run, train};
pub(crate) use runs::{checkpoints, copy, curves, outcome, signal, wait_for};
pub(crate) use skip::skip;
pub(crate) use succeed::succeed;

/// The binary under test.
pub(crate) const ALE_TRAIN: &str = env!("CARGO_BIN_EXE_ale-train");

/// Runs a command that must succeed and returns its standard output.
pub(crate) fn stdout(command: &mut Command) -> String {
    String::from_utf8(succeed(command).stdout).expect("standard output is UTF-8")
}

/// Runs a command that must fail with this exit status, without results, and returns its standard error.
pub(crate) fn fail(command: &mut Command, status: i32) -> String {
    let output = command.output().expect("the program starts");
    let stderr = String::from_utf8(output.stderr).expect("standard error is UTF-8");
    assert_eq!(output.status.code(), Some(status), "{command:?}: {stderr}");
    assert!(output.stdout.is_empty(), "{command:?} wrote to standard output");
    stderr
}

/// Returns true if a process runs, false if it has ended, even if its parent has not waited for it.
#[cfg(target_os = "linux")]
pub(crate) fn is_alive(process: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"));
    status.is_ok_and(|status| !status.contains("State:\tZ"))
}
