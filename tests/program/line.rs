//! Command lines of `ale-train`.

use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use super::{ALE_TRAIN, fail, stdout, succeed};

/// A command line, which can be run several times.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    arguments: Vec<OsString>,
    directory: Option<PathBuf>,
}

/// Begins a command line with words that are separated by spaces, such as `eval RUN --episodes 1`.
pub(crate) fn run(words: &str) -> Line {
    Line { arguments: Vec::new(), directory: None }.words(words)
}

/// Returns a training in `directory`, by default without evaluations and without checkpoints by the clock. The first of
/// the words is the algorithm.
pub(crate) fn train(directory: &Path, words: &str) -> Line {
    let (algorithm, settings) = words.split_once(' ').unwrap_or((words, ""));
    let line = run(algorithm).set("evaluation.episodes", 0).set("checkpoints.interval_minutes", 0);
    line.arg("--run-dir").arg(directory).words(settings)
}

impl Line {
    pub(crate) fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.arguments.push(argument.as_ref().to_owned());
        self
    }

    pub(crate) fn args(self, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        arguments.into_iter().fold(self, Self::arg)
    }

    /// Adds words that are separated by spaces.
    pub(crate) fn words(self, words: &str) -> Self {
        self.args(words.split_whitespace())
    }

    /// Sets a key of the experiment. The last value of a key counts.
    pub(crate) fn set(self, key: &str, value: impl Display) -> Self {
        self.settings(&[format!("{key}={value}")])
    }

    /// Sets keys of the experiment, such as `ppo.gamma=0.9`.
    pub(crate) fn settings(self, settings: &[impl AsRef<OsStr>]) -> Self {
        settings.iter().fold(self, |line, setting| line.arg("--set").arg(setting))
    }

    /// Sets the current directory of the program.
    pub(crate) fn within(mut self, directory: &Path) -> Self {
        self.directory = Some(directory.to_owned());
        self
    }

    pub(crate) fn arguments(&self) -> &[OsString] {
        &self.arguments
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(ALE_TRAIN);
        command.args(&self.arguments);
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        command
    }

    pub(crate) fn output(&self) -> Output {
        self.command().output().expect("the program starts")
    }

    /// Fails unless the program succeeds. Returns its output.
    pub(crate) fn succeed(&self) -> Output {
        succeed(&mut self.command())
    }

    /// Fails unless the program succeeds. Returns its standard output.
    pub(crate) fn stdout(&self) -> String {
        stdout(&mut self.command())
    }

    /// Fails unless the program succeeds. Returns its messages, on standard error.
    pub(crate) fn messages(&self) -> String {
        String::from_utf8(self.succeed().stderr).expect("standard error is UTF-8")
    }

    /// Fails unless the program ends with this status, without results. Returns its messages, on standard error.
    pub(crate) fn fail(&self, status: i32) -> String {
        fail(&mut self.command(), status)
    }

    /// Starts the program without its output.
    pub(crate) fn start(&self) -> Child {
        self.command().stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the program starts")
    }
}
