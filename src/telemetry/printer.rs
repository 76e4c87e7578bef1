use indicatif::{ProgressBar, ProgressDrawTarget};

use crate::cluster;
use crate::output::{notice, notice_lines};

/// Prints messages to standard error. Results go to standard output.
#[derive(Clone)]
pub(crate) enum Printer {
    /// Prints nothing, because another process does.
    Silent,
    /// Prints warnings only.
    Quiet,
    /// Prints lines.
    Plain,
    /// Prints lines above a progress bar.
    Bar(ProgressBar),
}

impl Printer {
    /// Creates a printer, with a progress bar if standard error is a terminal that can draw one (not if `TERM` is
    /// `dumb` or not set). Of several processes, only the leader prints.
    pub(crate) fn new(quiet: bool) -> Self {
        if cluster::is_follower() {
            Self::Silent
        } else if quiet {
            Self::Quiet
        } else if ProgressDrawTarget::stderr().is_hidden() {
            Self::Plain
        } else {
            Self::Bar(ProgressBar::hidden())
        }
    }

    /// Prints a line, unless quiet.
    pub(crate) fn say(&self, line: &str) {
        match self {
            Self::Silent | Self::Quiet => {}
            Self::Plain => notice(line),
            Self::Bar(bar) => bar.suspend(|| notice(line)),
        }
    }

    /// Prints several lines, such as a table, unless quiet.
    pub(crate) fn say_lines(&self, lines: &str) {
        match self {
            Self::Silent | Self::Quiet => {}
            Self::Plain => notice_lines(lines),
            Self::Bar(bar) => bar.suspend(|| notice_lines(lines)),
        }
    }

    /// Prints a warning, even if quiet.
    pub(crate) fn warn(&self, line: &str) {
        match self {
            Self::Silent => {}
            Self::Quiet | Self::Plain => notice(format_args!("warning: {line}")),
            Self::Bar(bar) => bar.suspend(|| notice(format_args!("warning: {line}"))),
        }
    }
}
