//! What a user is shown: results on standard output, everything else on standard error.

use std::fmt::Display;
use std::io::{self, Write};

use thiserror::Error;

/// Standard output, or what stands for it, whose errors say so.
pub(crate) struct StandardOutput<W>(pub(crate) W);

/// Results could not be written.
#[derive(Debug, Error)]
#[error("cannot write to standard output: {0}")]
pub(crate) struct NotWritten(io::Error);

impl<W: Write> Write for StandardOutput<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).map_err(named)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().map_err(named)
    }
}

/// Of the same kind, so that a closed pipe and an interruption stay what they are.
fn named(error: io::Error) -> io::Error {
    io::Error::new(error.kind(), NotWritten(error))
}

/// Writes a line to standard error. Where that is not possible, as on a full disk, work goes on without it.
pub(crate) fn notice(line: impl Display) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}
