//! How the program ends when something went wrong: one sentence, and a code that scripts can tell apart.

use std::fmt::Write;
use std::io;
use std::process::ExitCode;

use anyhow::{Error, Result};
use thiserror::Error;

use crate::output::{NotWritten, notice};

/// The user's input cannot be used. Nothing has been written.
const BAD_INPUT: u8 = 2;
/// Something failed while the program was at work.
const FAILED: u8 = 1;
/// A signal ended the run: 128 + SIGINT, as shells have it.
pub(crate) const INTERRUPTED: u8 = 130;

/// A run that was stopped by a signal, after its checkpoint was written.
#[derive(Debug, Error)]
#[error("stopped by a signal; {again} goes on from here")]
pub(crate) struct Interrupted {
    /// What goes on with it.
    pub(crate) again: String,
}

/// Marks an error as one that happened at work, not one of the user's input.
#[derive(Debug, Error)]
#[error("{doing}")]
pub(crate) struct AtWork {
    pub(crate) doing: &'static str,
}

/// Reports an outcome and returns the program's exit code.
pub(crate) fn exit_code(outcome: Result<()>) -> ExitCode {
    let Err(error) = outcome else { return ExitCode::SUCCESS };
    if is_broken_pipe(&error) {
        // Whoever read the output has enough of it: `ale-train games | head`.
        return ExitCode::SUCCESS;
    }
    if error.is::<Interrupted>() {
        notice(&error);
        return ExitCode::from(INTERRUPTED);
    }
    notice(format_args!("error: {}", sentence(&error)));
    ExitCode::from(if error.is::<AtWork>() || is_of_output(&error) { FAILED } else { BAD_INPUT })
}

/// The error and its causes in one line. A cause whose words the line already has is left out.
pub(crate) fn sentence(error: &Error) -> String {
    let mut line = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if line.is_empty() {
            line = cause;
        } else if !line.contains(&cause) {
            // Writing to a string cannot fail.
            let _ = write!(line, ": {cause}");
        }
    }
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn is_of_output(error: &Error) -> bool {
    io_errors(error).filter_map(io::Error::get_ref).any(|cause| cause.downcast_ref::<NotWritten>().is_some())
}

fn is_broken_pipe(error: &Error) -> bool {
    io_errors(error).map(io::Error::kind).any(|kind| kind == io::ErrorKind::BrokenPipe)
}

fn io_errors(error: &Error) -> impl Iterator<Item = &io::Error> {
    error.chain().filter_map(|cause| cause.downcast_ref())
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    #[test]
    fn causes_are_joined_in_one_line_without_repetition() {
        let error =
            anyhow!("no space left").context("cannot write x: no space left").context("saving\n  failed");
        assert_eq!(sentence(&error), "saving failed: cannot write x: no space left");
    }
}
