use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use super::error::RomError;
use super::wheel::{WHEEL, Wheel};

/// The options for the wheel of another platform, if there is none for the user's. Its ROMs are the same.
const ANY_PLATFORM: [&str; 5] = [
    "--only-binary=:all:",
    "--platform=manylinux_2_28_x86_64",
    "--python-version=3.11",
    "--implementation=cp",
    "--abi=cp311",
];

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

    /// Downloads the wheel into a temporary directory.
    pub(super) fn download(&self) -> Result<Wheel, RomError> {
        let directory = tempfile::tempdir()
            .map_err(|reason| RomError::Unwritable { path: std::env::temp_dir(), reason })?;
        (self.announce)(&format!("downloading {WHEEL} with pip for its ROMs"));
        match self.run(directory.path(), &[]) {
            Err(RomError::PipFailed { .. }) => self.run(directory.path(), &ANY_PLATFORM)?,
            outcome => outcome?,
        }
        Wheel::find(directory)
            .ok_or_else(|| RomError::PipFailed { detail: "it reported success but left no wheel".to_owned() })
    }

    fn run(&self, directory: &Path, choice: &[&str]) -> Result<(), RomError> {
        for interpreter in &self.interpreters {
            let mut command = Command::new(interpreter);
            command
                .args(["-m", "pip", "download", "--no-deps", "--disable-pip-version-check"])
                .args(choice)
                .arg("--dest")
                .arg(directory)
                .arg(WHEEL)
                .stdin(Stdio::null());
            match command.output() {
                Ok(output) if output.status.success() => return Ok(()),
                Ok(output) => return Err(explain(&interpreter.to_string_lossy(), &output)),
                // Try the next name.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => {
                    return Err(RomError::PipFailed {
                        detail: format!("{} cannot be started: {error}", interpreter.to_string_lossy()),
                    });
                }
            }
        }
        let tried: Vec<_> = self.interpreters.iter().map(|name| name.to_string_lossy()).collect();
        Err(RomError::NoPython { tried: tried.join(", ") })
    }
}

/// Classifies a failure of pip by its output.
fn explain(python: &str, output: &Output) -> RomError {
    let words = String::from_utf8_lossy(&output.stderr);
    if words.contains("No module named pip") {
        return RomError::NoPip { python: python.to_owned() };
    }
    if let Some(sign) = NETWORK_SIGNS.into_iter().find(|sign| words.contains(sign)) {
        return RomError::NoNetwork { detail: sign.to_owned() };
    }
    let last = words.lines().rev().find(|line| !line.trim().is_empty());
    let detail = last.map_or_else(|| output.status.to_string(), |line| line.trim().to_owned());
    RomError::PipFailed { detail }
}
