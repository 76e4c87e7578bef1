//! Changes of settings between two parts of a run.
//!
//! New settings take effect with the checkpoint that contains them. `config.toml` and `run.json` of the run repeat them
//! for readers. If a process is killed after the checkpoint but before writing these files, the next process writes
//! them.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::CONFIG;
use super::store::PROVENANCE;
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

/// Returns the amendments in `run.json`.
pub(crate) fn published(run_dir: &Path) -> Vec<Amendment> {
    let published = provenance(run_dir).remove(KEY).unwrap_or_default();
    serde_json::from_value(published).unwrap_or_default()
}

/// Returns true if `run.json` has exactly these amendments.
pub(crate) fn are_published(run_dir: &Path, amendments: &[Amendment]) -> bool {
    published(run_dir) == amendments
}

/// Writes the configuration of the newest checkpoint to `config.toml`, then its amendments to `run.json`, unless they
/// are already there. Removes amendments after the checkpoint from which the run continues.
pub(crate) fn publish(run_dir: &Path, config: &str, amendments: &[Amendment]) -> Result<()> {
    if are_published(run_dir, amendments) {
        return Ok(());
    }
    let mut provenance = provenance(run_dir);
    provenance.insert(KEY.to_owned(), serde_json::to_value(amendments)?);
    let text = format!("{}\n", serde_json::to_string_pretty(&provenance)?);
    let write = || {
        durable::write(&run_dir.join(CONFIG), config.as_bytes())?;
        durable::write(&run_dir.join(PROVENANCE), text.as_bytes())
    };
    write().with_context(|| format!("cannot write the run directory {}", run_dir.display()))
}

/// Returns the contents of `run.json`, or an empty map if it cannot be read.
fn provenance(run_dir: &Path) -> Map<String, Value> {
    let text = fs::read_to_string(run_dir.join(PROVENANCE)).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    #[test]
    fn amendments_are_published_once_and_in_order() {
        let run = TempDir::new().unwrap();
        let amendment = |frames| {
            let change = Change { key: "ppo.gamma".to_owned(), from: Some(0.99.into()), to: Some(1.into()) };
            Amendment { time: 1, commit: "c".to_owned(), frames, changes: vec![change] }
        };
        let read = |name| fs::read_to_string(run.path().join(name)).unwrap();
        fs::write(run.path().join(PROVENANCE), "{\"commit\": \"a\"}").unwrap();
        assert!(are_published(run.path(), &[]) && !are_published(run.path(), &[amendment(5)]));
        publish(run.path(), "x = 1", &[amendment(5)]).unwrap();
        publish(run.path(), "x = 2", &[amendment(5)]).unwrap();
        assert_eq!(read(CONFIG), "x = 1", "nothing was left to do");
        publish(run.path(), "x = 3", &[amendment(5), amendment(9)]).unwrap();
        assert!(are_published(run.path(), &[amendment(5), amendment(9)]));
        let provenance: Value = serde_json::from_str(&read(PROVENANCE)).unwrap();
        assert_eq!((provenance["commit"].as_str(), read(CONFIG).as_str()), (Some("a"), "x = 3"));
        let frames: Vec<u64> =
            provenance[KEY].as_array().unwrap().iter().map(|of| of["frames"].as_u64().unwrap()).collect();
        assert_eq!(frames, [5, 9]);
        publish(run.path(), "x = 4", &[amendment(5), amendment(9)]).unwrap();
        assert_eq!(read(CONFIG), "x = 3", "nothing was left to do");
        // A run that continues from before the second one.
        publish(run.path(), "x = 5", &[amendment(5)]).unwrap();
        assert!(are_published(run.path(), &[amendment(5)]));
        assert_eq!(read(CONFIG), "x = 5");
    }
}
