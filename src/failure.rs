//! Errors of the program: a message of one line, and an exit code for scripts.

use std::fmt::Write;
use std::io;

use anyhow::{Error, Result};
use thiserror::Error;

use crate::output::{NotWritten, notice};
use crate::signal::Signal;

const SUCCESS: u8 = 0;
/// Exit code for invalid input, before anything is written.
const BAD_INPUT: u8 = 2;
/// Exit code for failures at run time.
const FAILED: u8 = 1;

/// A command was stopped by a signal, after it had saved its work.
#[derive(Debug, Error)]
#[error("stopped by a signal{}", resume_hint(.resume_command.as_deref()))]
pub(crate) struct Interrupted {
    pub(crate) signal: Signal,
    /// The command that continues the work, if there is one.
    pub(crate) resume_command: Option<String>,
}

fn resume_hint(resume_command: Option<&str>) -> String {
    resume_command.map_or_else(String::new, |command| format!("; continue with {command}"))
}

/// A failure at run time rather than invalid input: the context of its cause.
#[derive(Debug, Error)]
#[error("{0}")]
pub(crate) struct RuntimeFailure(pub(crate) &'static str);

/// Reports an outcome and returns the program's exit status.
pub(crate) fn exit_status(outcome: Result<()>) -> u8 {
    let Err(error) = outcome else { return SUCCESS };
    if is_broken_pipe(&error) {
        // The reader has closed the output: `ale-train games | head`.
        return SUCCESS;
    }
    if let Some(Interrupted { signal, .. }) = error.downcast_ref() {
        notice(&error);
        return signal.exit_status();
    }
    notice(format_args!("error: {}", sentence(&error)));
    status(&error)
}

/// Returns the exit status after an error.
pub(crate) fn status(error: &Error) -> u8 {
    if is_of_input(error) { BAD_INPUT } else { FAILED }
}

/// Returns true for invalid input.
pub(crate) fn is_of_input(error: &Error) -> bool {
    !error.is::<RuntimeFailure>() && !is_of_output(error) && !is_of_storage(error)
}

/// Returns an error and its causes in one line, without causes that the line already contains.
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

/// Returns true if the disk was full.
fn is_of_storage(error: &Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};

    io_errors(error)
        .map(io::Error::kind)
        .any(|kind| [FileTooLarge, QuotaExceeded, StorageFull].contains(&kind))
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
