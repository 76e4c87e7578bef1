use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::error::MujocoError;

/// The packages with the library and the models, at the versions whose contents are known.
pub(crate) const PACKAGES: [&str; 2] = ["mujoco==3.17.0", "gymnasium==1.4.0"];

/// The words in pip's output if it cannot reach the index.
const NETWORK_SIGNS: [&str; 6] = [
    "NewConnectionError",
    "NameResolutionError",
    "ConnectTimeoutError",
    "ReadTimeoutError",
    "ProxyError",
    "Max retries exceeded",
];

/// The user's pip.
#[derive(Clone, Debug)]
pub struct Pip {
    interpreters: Vec<OsString>,
    announce: fn(&str),
}

impl Pip {
    /// Returns the pip of `python3`, else of `python`. `announce` is called with one line before a download.
    pub fn new(announce: fn(&str)) -> Self {
        Self { interpreters: ["python3", "python"].map(OsString::from).to_vec(), announce }
    }

    /// Returns the same with the given interpreter instead of `python3` and `python`.
    #[must_use]
    pub fn with_interpreter(mut self, interpreter: impl Into<OsString>) -> Self {
        self.interpreters = vec![interpreter.into()];
        self
    }

    /// Installs the packages into a directory, without what they depend on.
    pub(crate) fn install(&self, directory: &Path) -> Result<(), MujocoError> {
        (self.announce)(&format!("downloading {} with pip", PACKAGES.join(" and ")));
        for interpreter in &self.interpreters {
            let name = interpreter.to_string_lossy();
            let mut command = Command::new(interpreter);
            command
                .args([
                    "-m",
                    "pip",
                    "install",
                    "--no-deps",
                    "--only-binary=:all:",
                    "--disable-pip-version-check",
                ])
                .arg("--target")
                .arg(directory)
                .args(PACKAGES)
                .stdin(Stdio::null());
            match command.output() {
                Ok(output) if output.status.success() => return Ok(()),
                Ok(output) => return Err(explain(&name, &output)),
                // Try the next name.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => {
                    return Err(MujocoError::PipFailed {
                        detail: format!("{name} cannot be started: {error}"),
                    });
                }
            }
        }
        let tried: Vec<_> = self.interpreters.iter().map(|name| name.to_string_lossy()).collect();
        Err(MujocoError::NoPython { tried: tried.join(", ") })
    }
}

/// Classifies a failure of pip by its output.
fn explain(python: &str, output: &Output) -> MujocoError {
    let words = String::from_utf8_lossy(&output.stderr);
    if words.contains("No module named pip") {
        return MujocoError::NoPip { python: python.to_owned() };
    }
    if let Some(sign) = NETWORK_SIGNS.into_iter().find(|sign| words.contains(sign)) {
        return MujocoError::NoNetwork { detail: sign.to_owned() };
    }
    let last = words.lines().rev().find(|line| !line.trim().is_empty());
    let detail = last.map_or_else(|| output.status.to_string(), |line| line.trim().to_owned());
    MujocoError::PipFailed { detail }
}
