//! Training in environments of Python.
//!
//! Skipped without Gymnasium in `$ALE_TRAIN_TEST_PYTHON` or else python3; `.ci/run` installs it.

mod episodes;
mod faults;
mod mistakes;
mod pictures;
mod training;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

use crate::program::{self, Line, run};
use crate::python::python_with;

/// Environments that cannot be pickled, that fail, that print, and that render frames.
const ENVS: &str = include_str!("envs.py");

/// A directory with modules of environments, and the Python that has Gymnasium.
struct Modules {
    directory: TempDir,
    python: String,
}

impl Modules {
    /// Returns `None` if Gymnasium is missing.
    fn new() -> Option<Self> {
        let python = python_with("gymnasium")?;
        let directory = TempDir::new().expect("a directory");
        fs::write(directory.path().join("envs.py"), ENVS).expect("a module");
        let corridor = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/corridor.py");
        fs::copy(corridor, directory.path().join("corridor.py")).expect("a module");
        Some(Self { directory, python })
    }

    fn run(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Returns a training of a few updates.
    fn train(&self, name: &str, settings: &str) -> Line {
        let line = program::train(&self.run(name), settings).within(self.directory.path());
        let line = line.words("--seed 4 --num-threads 2 --num-envs 4");
        line.set("environments.gymnasium.python", &self.python)
    }

    /// Returns `run.json` of a run.
    fn provenance(&self, name: &str) -> Value {
        let text = fs::read_to_string(self.run(name).join("run.json")).expect("the provenance");
        serde_json::from_str(&text).expect("JSON")
    }

    fn resume(&self, name: &str) -> Line {
        run("resume").arg(self.run(name)).within(self.directory.path())
    }
}
