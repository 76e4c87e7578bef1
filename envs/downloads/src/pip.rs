use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::panic;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use thiserror::Error;

use crate::platform::{INTERPRETERS, is_placeholder, is_stopped};

/// Phrases in pip's output that show that it cannot reach the index.
const NETWORK_SIGNS: [&str; 6] = [
    "NewConnectionError",
    "NameResolutionError",
    "ConnectTimeoutError",
    "ReadTimeoutError",
    "ProxyError",
    "Max retries exceeded",
];

/// The time between two checks whether pip has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The user's pip.
#[derive(Clone, Debug)]
pub struct Pip {
    interpreters: Vec<OsString>,
    announce: fn(&str),
    is_interrupted: fn() -> bool,
}

/// A failure of pip. The message completes a sentence such as "cannot download X: ...".
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum PipError {
    /// There is no Python interpreter to run pip.
    #[error("this needs Python 3 with pip, but none of {tried} can be started")]
    NoPython {
        /// The names of the interpreters tried.
        tried: String,
    },
    /// The Python interpreter has no pip.
    #[error("`{python} -m pip` does not work; install pip (Debian: python3-pip)")]
    NoPip {
        /// The interpreter.
        python: String,
    },
    /// pip could not reach the package index.
    #[error("pip cannot reach the package index ({detail}); check the network")]
    NoNetwork {
        /// The message of pip.
        detail: String,
    },
    /// The user or a request to stop ended pip.
    #[error("pip was interrupted")]
    Interrupted,
    /// pip failed for another reason.
    #[error("{detail}")]
    Failed {
        /// The message of pip.
        detail: String,
    },
}

impl Pip {
    /// Returns the pip of `python3`, else of `python`; on Windows, of `python`, `python3` or `py`. `announce` is called
    /// with one line before a download.
    pub fn new(announce: fn(&str)) -> Self {
        let interpreters = INTERPRETERS.map(OsString::from).to_vec();
        Self { interpreters, announce, is_interrupted: || false }
    }

    /// Returns this pip with a function that is called regularly while it runs, and ends it by returning true.
    #[must_use]
    pub fn with_interrupt(mut self, is_interrupted: fn() -> bool) -> Self {
        self.is_interrupted = is_interrupted;
        self
    }

    /// Returns the directories in which the interpreter searches for packages; none if there is no interpreter.
    pub fn package_directories(&self) -> Vec<PathBuf> {
        let print = "import sys; print('\\n'.join(path for path in sys.path if path))";
        let outputs = self.interpreters.iter().map(|interpreter| {
            // On Windows, Python writes another encoding to a pipe by default.
            Command::new(interpreter)
                .args(["-X", "utf8", "-c", print])
                .stdin(Stdio::null())
                .stderr(Stdio::null())
                .output()
        });
        let output = outputs.flatten().find(|output| output.status.success());
        let lines =
            output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
        lines.lines().map(PathBuf::from).collect()
    }

    /// Returns this pip with the given interpreter instead of those of [`new`](Self::new).
    #[must_use]
    pub fn with_interpreter(mut self, interpreter: impl Into<OsString>) -> Self {
        self.interpreters = vec![interpreter.into()];
        self
    }

    /// Announces a download.
    pub fn announce(&self, line: &str) {
        (self.announce)(line);
    }

    /// Runs a pip command with its arguments, without showing its output and without fetching dependencies.
    pub fn run<A: AsRef<OsStr>>(
        &self,
        command: &str,
        arguments: impl IntoIterator<Item = A>,
    ) -> Result<(), PipError> {
        let arguments: Vec<A> = arguments.into_iter().collect();
        for interpreter in &self.interpreters {
            let name = interpreter.to_string_lossy();
            let mut python = Command::new(interpreter);
            python.args(["-m", "pip", command, "--no-deps", "--disable-pip-version-check"]);
            match self.wait_for(python.args(&arguments)) {
                Ok(None) => return Err(PipError::Interrupted),
                Ok(Some(output)) if output.status.success() => return Ok(()),
                // Try the next name.
                Ok(Some(output)) if is_placeholder(output.status) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Ok(Some(output)) => return Err(explain(&name, &output)),
                Err(error) => {
                    return Err(PipError::Failed { detail: format!("{name} cannot be started: {error}") });
                }
            }
        }
        let tried: Vec<_> = self.interpreters.iter().map(|name| name.to_string_lossy()).collect();
        Err(PipError::NoPython { tried: tried.join(", ") })
    }

    /// Runs a command and returns its status and what it wrote to stderr, or `None` if it was interrupted.
    fn wait_for(&self, command: &mut Command) -> io::Result<Option<Output>> {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
        let mut errors = child.stderr.take().expect("stderr is piped");
        // Another thread reads, because a full pipe would block the command.
        let reader = thread::spawn(move || {
            let mut stderr = Vec::new();
            errors.read_to_end(&mut stderr).map(|_| stderr)
        });
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            if (self.is_interrupted)() {
                child.kill()?;
                child.wait()?;
                return Ok(None);
            }
            thread::sleep(POLL_INTERVAL);
        };
        let stderr = reader.join().unwrap_or_else(|payload| panic::resume_unwind(payload))?;
        Ok(Some(Output { status, stdout: Vec::new(), stderr }))
    }

    /// Runs a pip command like [`run`](Self::run), and once more with additional options if it fails. If both attempts
    /// fail, the error is that of the first: it is about the user's Python, and therefore more useful.
    pub fn run_or_retry_with<'a>(
        &self,
        options: &'a [&str],
        command: &str,
        arguments: impl IntoIterator<Item = &'a OsStr> + Clone,
    ) -> Result<(), PipError> {
        match self.run(command, arguments.clone()) {
            Err(first @ PipError::Failed { .. }) => {
                let options = options.iter().map(OsStr::new);
                match self.run(command, options.chain(arguments)) {
                    Err(PipError::Interrupted) => Err(PipError::Interrupted),
                    second => second.map_err(|_| first),
                }
            }
            outcome => outcome,
        }
    }
}

/// Classifies a failure of pip by its output.
fn explain(python: &str, output: &Output) -> PipError {
    let words = String::from_utf8_lossy(&output.stderr);
    // After Ctrl-C, pip exits normally.
    if is_stopped(output.status) || words.contains("Operation cancelled by user") {
        return PipError::Interrupted;
    }
    if words.contains("No module named pip") {
        return PipError::NoPip { python: python.to_owned() };
    }
    if let Some(sign) = NETWORK_SIGNS.into_iter().find(|sign| words.contains(sign)) {
        return PipError::NoNetwork { detail: sign.to_owned() };
    }
    let last = words.lines().rev().find(|line| !line.trim().is_empty());
    let detail = last.map_or_else(|| output.status.to_string(), |line| line.trim().to_owned());
    PipError::Failed { detail }
}

#[cfg(all(test, unix))]
mod tests {
    use std::path::Path;
    use std::time::Instant;

    use tempfile::TempDir;

    use super::*;

    /// Runs pip as a script.
    ///
    /// Another process writes the file. If it were open here while a parallel test starts a child, the child would
    /// inherit it and running it would fail with "text file busy".
    fn run(script: &str) -> Result<(), PipError> {
        run_until(script, || false)
    }

    fn run_until(script: &str, is_interrupted: fn() -> bool) -> Result<(), PipError> {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("python3");
        let write = "printf '#!/bin/sh\n%s\n' \"$2\" > \"$1\" && chmod +x \"$1\"";
        let mut shell = Command::new("sh");
        assert!(shell.args(["-c", write, "sh"]).arg(&path).arg(script).status().unwrap().success());
        let arguments = [OsStr::new("--dest"), Path::new("a directory").as_os_str()];
        let pip = Pip::new(|_| ()).with_interpreter(path).with_interrupt(is_interrupted);
        pip.run("download", arguments)
    }

    #[test]
    fn an_interruption_ends_pip() {
        let start = Instant::now();
        assert_eq!(run_until("exec sleep 60", || true), Err(PipError::Interrupted));
        assert!(start.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn more_output_than_a_pipe_holds_does_not_block_pip() {
        let script =
            "yes | head -c 300000; yes | head -c 300000 >&2; echo 'ERROR: the last line' >&2; exit 1";
        assert_eq!(run(script).unwrap_err().to_string(), "ERROR: the last line");
    }

    fn pip_of(interpreters: &[&str]) -> Pip {
        Pip { interpreters: interpreters.iter().map(OsString::from).collect(), ..Pip::new(|_| ()) }
    }

    #[test]
    fn the_directories_of_packages_are_those_of_the_first_interpreter_that_starts() {
        let directories = pip_of(&["no-such-python", "python3"]).package_directories();
        assert!(
            !directories.is_empty() && directories.iter().all(|directory| !directory.as_os_str().is_empty()),
            "{directories:?}"
        );
        assert_eq!(pip_of(&["no-such-python"]).package_directories(), Vec::<PathBuf>::new());
    }

    #[test]
    fn distinguishes_failures() {
        let failure = |words: &str| run(&format!("echo \"{words}\" >&2; exit 1")).unwrap_err();
        assert!(matches!(failure("/usr/bin/python3: No module named pip"), PipError::NoPip { .. }));
        let network = failure("WARNING: Retrying after NewConnectionError(...)");
        assert_eq!(network, PipError::NoNetwork { detail: "NewConnectionError".to_owned() });
        assert_eq!(failure("first\nERROR: no space").to_string(), "ERROR: no space");
        assert_eq!(run("exit 3").unwrap_err().to_string(), "exit status: 3");
        assert_eq!(failure("ERROR: Operation cancelled by user"), PipError::Interrupted);
        assert_eq!(run("kill $$"), Err(PipError::Interrupted));
        assert!(run("kill -9 $$").unwrap_err().to_string().starts_with("signal: 9"));
    }

    #[test]
    fn arguments_follow_the_command() {
        let expected = "-m pip download --no-deps --disable-pip-version-check --dest a directory";
        assert_eq!(run(&format!("test \"$*\" = '{expected}'")), Ok(()));
    }

    #[test]
    fn the_interpreters_tried_are_named() {
        let error = Pip::new(|_| ()).with_interpreter("no-such-python").run("list", [""; 0]).unwrap_err();
        assert_eq!(error, PipError::NoPython { tried: "no-such-python".to_owned() });
    }
}

/// The same with batch files in place of Python.
#[cfg(all(test, windows))]
mod tests_of_windows {
    use std::fs;
    use std::path::Path;
    use std::time::Instant;

    use tempfile::TempDir;

    use super::*;

    fn batch_file(directory: &Path, name: &str, script: &str) -> OsString {
        let path = directory.join(name).with_extension("cmd");
        fs::write(&path, format!("@echo off\r\n{script}\r\n")).unwrap();
        path.into_os_string()
    }

    fn run(script: &str, is_interrupted: fn() -> bool) -> Result<(), PipError> {
        let directory = TempDir::new().unwrap();
        let python = batch_file(directory.path(), "python", script);
        let pip = Pip::new(|_| ()).with_interpreter(python).with_interrupt(is_interrupted);
        pip.run("download", ["--dest", "a directory"])
    }

    #[test]
    fn distinguishes_failures() {
        let failure = |words: &str| run(&format!("echo {words}>&2\r\nexit 1"), || false).unwrap_err();
        assert!(matches!(failure("python.exe: No module named pip"), PipError::NoPip { .. }));
        let network = failure("WARNING: Retrying after NewConnectionError");
        assert_eq!(network, PipError::NoNetwork { detail: "NewConnectionError".to_owned() });
        assert_eq!(failure("ERROR: no space").to_string(), "ERROR: no space");
        assert_eq!(run("exit 3", || false).unwrap_err().to_string(), "exit code: 3");
        assert_eq!(run("exit -1073741510", || false), Err(PipError::Interrupted));
    }

    #[test]
    fn an_interruption_ends_pip() {
        let start = Instant::now();
        assert_eq!(run(":again\r\ngoto again", || true), Err(PipError::Interrupted));
        assert!(start.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn arguments_follow_the_command() {
        let arguments = run("echo %*>&2\r\nexit 1", || false).unwrap_err().to_string();
        let expected = "-m pip download --no-deps --disable-pip-version-check --dest \"a directory\"";
        assert_eq!(arguments, expected);
    }

    #[test]
    fn a_program_that_refers_to_the_store_is_passed_over() {
        let directory = TempDir::new().unwrap();
        let placeholder = batch_file(directory.path(), "placeholder", "exit 9009");
        let python = batch_file(directory.path(), "python", "exit 0");
        let pip = |interpreters: &[&OsString]| Pip {
            interpreters: interpreters.iter().map(|&name| name.clone()).collect(),
            ..Pip::new(|_| ())
        };
        let run = |pip: Pip| pip.run("list", [""; 0]);
        assert_eq!(run(pip(&[&placeholder, &python])), Ok(()));
        assert!(matches!(run(pip(&[&placeholder])), Err(PipError::NoPython { .. })));
    }
}
