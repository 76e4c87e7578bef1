//! Episodes that a resumed run does not continue, because their state is not in the checkpoint.

use std::path::Path;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::provenance_file;

/// A moment at which a resumed run started new episodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct NewEpisodes {
    /// The number of emulated frames of training before it.
    pub(crate) frames: u64,
    /// The reason why the state of the episodes was not in the checkpoint.
    pub(crate) reason: String,
}

/// The key of the reason why no checkpoint has the state of the episodes.
const UNSAVED: &str = "unsaved_episodes";
/// The key of the moments at which the run started new episodes.
const NEW: &str = "new_episodes";

/// Writes to `run.json` the reason why no checkpoint has the state of the episodes, if there is one, and the moments at
/// which the run started new episodes, unless they are already there.
pub(crate) fn publish_new_episodes(
    run_dir: &Path,
    unsaved: Option<&str>,
    new_episodes: &[NewEpisodes],
) -> Result<()> {
    let mut provenance = provenance_file::read(run_dir)?;
    let before = provenance.clone();
    let new_episodes = (!new_episodes.is_empty()).then(|| serde_json::to_value(new_episodes)).transpose()?;
    for (key, value) in [(UNSAVED, unsaved.map(Into::into)), (NEW, new_episodes)] {
        match value {
            Some(value) => provenance.insert(key.to_owned(), value),
            None => provenance.remove(key),
        };
    }
    if provenance == before { Ok(()) } else { provenance_file::write(run_dir, &provenance) }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::{Value, json};
    use tempfile::TempDir;

    use super::super::run_directory::PROVENANCE;
    use super::*;

    #[test]
    fn other_keys_of_the_file_are_kept() {
        let run = TempDir::new().unwrap();
        let path = run.path().join(PROVENANCE);
        let read = || serde_json::from_str::<Value>(&fs::read_to_string(&path).unwrap()).unwrap();
        let compact = "{\"commit\":\"a\"}";
        fs::write(&path, compact).unwrap();
        publish_new_episodes(run.path(), None, &[]).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), compact, "nothing was left to do");
        let moment = NewEpisodes { frames: 5, reason: "killed".to_owned() };
        publish_new_episodes(run.path(), Some("a lambda"), &[moment]).unwrap();
        let expected = json!({
            "commit": "a",
            "unsaved_episodes": "a lambda",
            "new_episodes": [{"frames": 5, "reason": "killed"}],
        });
        assert_eq!(read(), expected);
        // A run that continues from before that moment.
        publish_new_episodes(run.path(), Some("a lambda"), &[]).unwrap();
        assert_eq!(read(), json!({"commit": "a", "unsaved_episodes": "a lambda"}));
    }
}
