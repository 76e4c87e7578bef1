//! Changes of settings between two parts of a run.
//!
//! New settings take effect with the checkpoint that contains them. `config.toml` and `run.json` of the run repeat them
//! for readers. If a process is killed after the checkpoint but before writing these files, the next process writes
//! them.

use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::{CONFIG, provenance_file};
use crate::config::Change;
use crate::durable;

/// A change of settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Amendment {
    /// The time in seconds since 1970.
    pub(crate) time: u64,
    /// The commit of the program that continued the run.
    pub(crate) commit: String,
    /// The number of emulated frames of training before it.
    pub(crate) frames: u64,
    pub(crate) changes: Vec<Change>,
}

/// The key of the amendments in `run.json`.
const KEY: &str = "amendments";

/// Returns the amendments in `run.json`. Fails if it cannot be read.
pub(crate) fn published(run_dir: &Path) -> Result<Vec<Amendment>> {
    match provenance_file::read(run_dir)?.remove(KEY) {
        None => Ok(Vec::new()),
        Some(amendments) => {
            serde_json::from_value(amendments).with_context(|| provenance_file::damaged(run_dir))
        }
    }
}

/// Returns true if `run.json` has exactly these amendments. Fails if it cannot be read.
pub(crate) fn are_published(run_dir: &Path, amendments: &[Amendment]) -> Result<bool> {
    Ok(published(run_dir)? == amendments)
}

/// Writes the configuration of the newest checkpoint to `config.toml`, then its amendments to `run.json`, unless they
/// are already there. Removes amendments after the checkpoint from which the run continues.
pub(crate) fn publish(run_dir: &Path, config: &str, amendments: &[Amendment]) -> Result<()> {
    if are_published(run_dir, amendments)? {
        return Ok(());
    }
    let mut provenance = provenance_file::read(run_dir)?;
    provenance.insert(KEY.to_owned(), serde_json::to_value(amendments)?);
    durable::write_inside(run_dir, &run_dir.join(CONFIG), config.as_bytes())
        .with_context(|| provenance_file::cannot_write(run_dir))?;
    provenance_file::write(run_dir, &provenance)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::Value;
    use tempfile::TempDir;

    use super::super::run_directory::PROVENANCE;
    use super::*;

    fn amendment(frames: u64) -> Amendment {
        let change = Change { key: "ppo.gamma".to_owned(), from: Some(0.99.into()), to: Some(1.into()) };
        Amendment { time: 1, commit: "c".to_owned(), frames, changes: vec![change] }
    }

    #[test]
    fn amendments_are_published_once_and_in_order() {
        let run = TempDir::new().unwrap();
        let read = |name| fs::read_to_string(run.path().join(name)).unwrap();
        fs::write(run.path().join(PROVENANCE), "{\"commit\": \"a\"}").unwrap();
        let are_published = |amendments: &[Amendment]| are_published(run.path(), amendments).unwrap();
        assert!(are_published(&[]) && !are_published(&[amendment(5)]));
        publish(run.path(), "x = 1", &[amendment(5)]).unwrap();
        publish(run.path(), "x = 2", &[amendment(5)]).unwrap();
        assert_eq!(read(CONFIG), "x = 1", "nothing was left to do");
        publish(run.path(), "x = 3", &[amendment(5), amendment(9)]).unwrap();
        assert!(are_published(&[amendment(5), amendment(9)]));
        let provenance: Value = serde_json::from_str(&read(PROVENANCE)).unwrap();
        assert_eq!((provenance["commit"].as_str(), read(CONFIG).as_str()), (Some("a"), "x = 3"));
        let amendments = provenance[KEY].as_array().unwrap();
        let frames: Vec<u64> =
            amendments.iter().map(|amendment| amendment["frames"].as_u64().unwrap()).collect();
        assert_eq!(frames, [5, 9]);
        publish(run.path(), "x = 4", &[amendment(5), amendment(9)]).unwrap();
        assert_eq!(read(CONFIG), "x = 3", "nothing was left to do");
        // A run that continues from before the second one.
        publish(run.path(), "x = 5", &[amendment(5)]).unwrap();
        assert!(are_published(&[amendment(5)]));
        assert_eq!(read(CONFIG), "x = 5");
    }

    #[test]
    fn a_damaged_file_is_not_replaced() {
        let run = TempDir::new().unwrap();
        assert_eq!(published(run.path()).unwrap(), []);
        for damaged in ["{\"commit\": ", "[]", "{\"amendments\": 5}"] {
            fs::write(run.path().join(PROVENANCE), damaged).unwrap();
            let error = publish(run.path(), "x = 1", &[]).unwrap_err();
            assert!(format!("{error:#}").contains("run.json"), "{error:#}");
            assert_eq!(fs::read_to_string(run.path().join(PROVENANCE)).unwrap(), damaged);
        }
    }
}
