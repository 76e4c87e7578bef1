use anyhow::Error;
use thiserror::Error;

use crate::failure::{self, Interrupted, sentence};

/// The reason why a call failed, as a sentence.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum CallError {
    /// The arguments are invalid. Nothing was written.
    #[error("{0}")]
    Arguments(String),
    /// The call failed at run time.
    #[error("{0}")]
    Failed(String),
    /// The caller stopped the call, which had saved its work before.
    #[error("{0}")]
    Interrupted(String),
}

impl From<Error> for CallError {
    fn from(error: Error) -> Self {
        let text = sentence(&error);
        if error.is::<Interrupted>() {
            Self::Interrupted(text)
        } else if failure::is_of_input(&error) {
            Self::Arguments(text)
        } else {
            Self::Failed(text)
        }
    }
}

impl From<clap::Error> for CallError {
    /// Keeps the line about the argument, without the usage of the command.
    fn from(error: clap::Error) -> Self {
        let text = error.to_string();
        let line = text.lines().next().unwrap_or_default();
        Self::Arguments(line.trim_start_matches("error: ").to_owned())
    }
}
