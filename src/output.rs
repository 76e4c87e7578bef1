//! Output of the program: results on standard output, everything else on standard error.

use std::borrow::Cow;
use std::fmt::{Display, Write as _};
use std::io::{self, Write};
use std::path::Path;

use thiserror::Error;

/// The width in columns of a terminal that tables and plans should fit.
pub(crate) const WIDTH: usize = 80;

/// Standard output, or a substitute for it. Control characters are escaped, and errors are marked as [`NotWritten`].
pub(crate) struct StandardOutput<W>(pub(crate) W);

/// The results could not be written.
#[derive(Debug, Error)]
#[error("cannot write to standard output: {0}")]
pub(crate) struct NotWritten(io::Error);

impl<W: Write> Write for StandardOutput<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for chunk in bytes.utf8_chunks() {
            self.0.write_all(printable(chunk.valid()).as_bytes()).map_err(named)?;
            self.0.write_all(chunk.invalid()).map_err(named)?;
        }
        Ok(bytes.len())
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
    let _ = write_line(&mut io::stderr().lock(), &one_line(&line.to_string()));
}

/// Writes several lines to standard error, such as a table.
pub(crate) fn notice_lines(lines: impl Display) {
    let _ = write_line(&mut io::stderr().lock(), &printable(&lines.to_string()));
}

/// Writes a line at once: the processes of a job share standard error, and parts of their lines would mix.
fn write_line(output: &mut impl Write, line: &str) -> io::Result<()> {
    output.write_all(format!("{line}\n").as_bytes())
}

/// Returns a text whose control characters are escaped, except for line breaks and tabs. Names of files and directories
/// may contain sequences that control a terminal.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    escaped(text, &['\n', '\t'])
}

/// Returns a text in one line, with control characters escaped.
pub(crate) fn one_line(text: &str) -> Cow<'_, str> {
    escaped(text, &[])
}

/// Escapes control characters as JSON does, so that JSON stays JSON.
fn escaped<'a>(text: &'a str, except: &[char]) -> Cow<'a, str> {
    let must_be = |letter: char| is_control(letter) && !except.contains(&letter);
    if !text.contains(must_be) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        if must_be(letter) {
            // Writing to a string cannot fail.
            let _ = write!(safe, "\\u{:04x}", u32::from(letter));
        } else {
            safe.push(letter);
        }
    }
    Cow::Owned(safe)
}

/// Returns true for characters that control a terminal, break lines or change the direction of a text.
pub(crate) fn is_control(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
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
        write_line(&mut writes, &format!("rank {} of {}", 1, 2)).expect("memory");
        assert_eq!(writes.0, [b"rank 1 of 2\n"]);
    }

    /// The sequence sets the title of a terminal.
    #[test]
    fn names_cannot_control_a_terminal_or_split_a_line() {
        let name = "x\u{1b}]0;pwn\u{7}\n\u{9b}31m\u{202e}";
        assert_eq!(one_line(name), r"x\u001b]0;pwn\u0007\u000a\u009b31m\u202e");
        assert_eq!(printable("a\tb\n\u{7f}"), "a\tb\n\\u007f");
        let mut out = Vec::new();
        StandardOutput(&mut out).write_all(name.as_bytes()).expect("memory");
        assert_eq!(
            out,
            br"x\u001b]0;pwn\u0007"
                .iter()
                .chain(b"\n")
                .chain(br"\u009b31m\u202e")
                .copied()
                .collect::<Vec<_>>()
        );
    }

    #[test]
    fn ordinary_names_stay_readable() {
        for name in ["läuft", "学習-1", "emoji \u{1f469}\u{200d}\u{1f680}", "back\\slash 'quote'", "مرحبا"]
        {
            assert_eq!(one_line(name), name);
        }
    }

    #[test]
    fn json_with_escaped_characters_is_the_same_json() {
        let value = serde_json::json!({ "path": "a\u{7f}\u{9b}\u{2028}\u{1b}" });
        let mut out = Vec::new();
        serde_json::to_writer(StandardOutput(&mut out), &value).expect("memory");
        assert!(out.is_ascii());
        assert_eq!(serde_json::from_slice::<serde_json::Value>(&out).expect("JSON"), value);
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
