//! Output of the program: results on standard output, everything else on standard error.

use std::borrow::Cow;
use std::fmt::Display;
use std::io::{self, Write};
use std::path::Path;

use thiserror::Error;

/// Standard output, or a substitute for it. Its errors are marked as [`NotWritten`].
pub(crate) struct StandardOutput<W>(pub(crate) W);

/// The results could not be written.
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

/// Marks an error and keeps its kind, which identifies closed pipes and interruptions.
fn named(error: io::Error) -> io::Error {
    io::Error::new(error.kind(), NotWritten(error))
}

/// Writes a line to standard error. Errors, such as a full disk, are ignored.
pub(crate) fn notice(line: impl Display) {
    let _ = write_line(&mut io::stderr().lock(), line);
}

/// Writes a line at once: the processes of a job share standard error, and parts of their lines would mix.
fn write_line(output: &mut impl Write, line: impl Display) -> io::Result<()> {
    output.write_all(format!("{line}\n").as_bytes())
}

/// Returns a number with its noun: `1 thread`, `2 threads`.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// Breaks a text into lines of at most `width` characters; continued lines are indented.
pub(crate) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            Some(_) => lines.push(format!("  {word}")),
            None => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Returns a path as an argument of a command line, quoted for a shell if necessary.
pub(crate) fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    shlex::try_quote(&text).map_or_else(|_| text.to_string(), Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keeps each write.
    #[derive(Default)]
    struct Writes(Vec<Vec<u8>>);

    impl Write for Writes {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.push(bytes.to_vec());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn lines_are_written_at_once() {
        let mut writes = Writes::default();
        write_line(&mut writes, format_args!("rank {} of {}", 1, 2)).expect("memory");
        assert_eq!(writes.0, [b"rank 1 of 2\n"]);
    }

    #[test]
    fn paths_in_commands_are_quoted_if_necessary() {
        assert_eq!(["runs/a-1", "my run"].map(|path| quoted(Path::new(path))), ["runs/a-1", "'my run'"]);
    }

    #[test]
    fn nouns_agree_with_their_number() {
        assert_eq!([0, 1, 2].map(|count| counted(count, "thread")), ["0 threads", "1 thread", "2 threads"]);
    }
}
