//! The last lines that a worker printed.

use std::collections::VecDeque;
use std::io::Read;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The number of bytes that are kept.
const KEPT_BYTES: usize = 16 << 10;

/// The number of lines that errors show.
const SHOWN_LINES: usize = 20;

/// The time without further output after which output counts as complete.
const QUIET: Duration = Duration::from_millis(30);

/// The end of the output of a worker, which a thread fills and errors show.
#[derive(Debug, Default)]
pub(crate) struct Output {
    tail: Mutex<Tail>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Tail {
    bytes: VecDeque<u8>,
    is_complete: bool,
}

impl Output {
    /// Reads until the end of `source`, and keeps the last bytes.
    pub(crate) fn drain(&self, mut source: impl Read) {
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = source.read(&mut buffer) {
            let mut tail = self.lock();
            tail.bytes.extend(&buffer[..count]);
            let surplus = tail.bytes.len().saturating_sub(KEPT_BYTES);
            tail.bytes.drain(..surplus);
            self.changed.notify_all();
        }
        self.lock().is_complete = true;
        self.changed.notify_all();
    }

    /// Returns the last lines, after waiting for those that are still in the pipe.
    pub(crate) fn last_lines(&self) -> String {
        let mut tail = self.lock();
        while !tail.is_complete {
            let (guard, waited) =
                self.changed.wait_timeout(tail, QUIET).unwrap_or_else(PoisonError::into_inner);
            tail = guard;
            if waited.timed_out() {
                break;
            }
        }
        let text = String::from_utf8_lossy(tail.bytes.make_contiguous()).into_owned();
        let lines: Vec<&str> = text.trim_end().lines().collect();
        lines[lines.len().saturating_sub(SHOWN_LINES)..].join("\n")
    }

    fn lock(&self) -> MutexGuard<'_, Tail> {
        self.tail.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_lines_are_kept() {
        let output = Output::default();
        let text: Vec<String> = (0..10_000).map(|line| format!("line {line}\n")).collect();
        output.drain(text.concat().as_bytes());
        let lines = output.last_lines();
        assert_eq!(lines.lines().count(), SHOWN_LINES);
        assert!(lines.starts_with("line 9980\n") && lines.ends_with("line 9999"), "{lines}");
        assert!(output.lock().bytes.len() <= KEPT_BYTES);
    }
}
