use std::io::{self, IsTerminal};

use indicatif::ProgressBar;

use crate::output::notice;

/// How messages reach the person who started the run. All go to standard error; results go to standard output.
#[derive(Clone)]
pub(crate) enum Printer {
    /// Warnings only.
    Quiet,
    /// Lines.
    Plain,
    /// Lines above a progress bar.
    Bar(ProgressBar),
}

impl Printer {
    /// A bar on a terminal, lines elsewhere.
    pub(crate) fn new(quiet: bool) -> Self {
        if quiet {
            Self::Quiet
        } else if io::stderr().is_terminal() {
            Self::Bar(ProgressBar::hidden())
        } else {
            Self::Plain
        }
    }

    /// Prints a line, unless quiet.
    pub(crate) fn say(&self, line: &str) {
        match self {
            Self::Quiet => {}
            Self::Plain => notice(line),
            Self::Bar(bar) => bar.suspend(|| notice(line)),
        }
    }

    /// Prints a line whatever was asked for.
    pub(crate) fn warn(&self, line: &str) {
        match self {
            Self::Quiet | Self::Plain => notice(format_args!("warning: {line}")),
            Self::Bar(bar) => bar.suspend(|| notice(format_args!("warning: {line}"))),
        }
    }
}
