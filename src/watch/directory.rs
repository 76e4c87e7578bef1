use std::path::{Component, Path, PathBuf};

use anyhow::{Result, ensure};
use serde_json::Value;

use crate::enclosure;
use crate::runs;

/// The directory whose runs are shown. It may be a run itself.
#[derive(Clone, Debug)]
pub(super) struct Directory(PathBuf);

impl Directory {
    /// Opens a directory, by default that of new runs, which need not exist yet.
    pub(super) fn open(path: Option<&Path>) -> Result<Self> {
        let directory = path.unwrap_or(Path::new(runs::DIRECTORY));
        ensure!(path.is_none() || directory.exists(), "{} does not exist", directory.display());
        ensure!(!directory.is_file(), "{} is not a directory", directory.display());
        Ok(Self(directory.to_owned()))
    }

    /// Returns all runs, the newest first, as `ale-train runs --json` describes them, and the `id` of each.
    pub(super) fn list(&self) -> Vec<Value> {
        let mut described = runs::described(&self.0);
        for run in &mut described {
            let id = run["path"].as_str().and_then(|path| self.id(Path::new(path)));
            run["id"] = id.into();
        }
        described
    }

    /// Returns the name of a run in addresses: its path below the directory.
    fn id(&self, run: &Path) -> Option<String> {
        let below = run.strip_prefix(&self.0).ok()?;
        Some(if below.as_os_str().is_empty() { "." } else { below.to_str()? }.to_owned())
    }

    /// Returns the directory of the run with this id, if there is one below the directory.
    pub(super) fn run(&self, id: &str) -> Option<PathBuf> {
        let below = Path::new(id);
        let is_below = id == "." || below.components().all(|part| matches!(part, Component::Normal(_)));
        let path = if id == "." { self.0.clone() } else { self.0.join(below) };
        (is_below && runs::is_run(&path) && enclosure::check(&self.0, &path).is_ok()).then_some(path)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;
    use crate::checkpoint::{CONFIG, PROVENANCE};

    fn create_run(directory: &Path) {
        fs::create_dir_all(directory).unwrap();
        for file in [CONFIG, PROVENANCE] {
            fs::write(directory.join(file), "").unwrap();
        }
    }

    #[test]
    fn only_runs_below_the_directory_are_found() {
        let temp = TempDir::new().unwrap();
        let root = temp.path().join("runs");
        create_run(&root.join("sweep/seed1"));
        create_run(&temp.path().join("outside"));
        #[cfg(unix)]
        std::os::unix::fs::symlink(temp.path().join("outside"), root.join("link")).unwrap();
        let directory = Directory::open(Some(&root)).unwrap();
        assert_eq!(directory.run("sweep/seed1"), Some(root.join("sweep/seed1")));
        let absolute = temp.path().join("outside").display().to_string();
        for id in ["", ".", "sweep", "nowhere", "../outside", "sweep/../../outside", "link", &absolute] {
            assert_eq!(directory.run(id), None, "{id}");
        }
        let itself = Directory::open(Some(&root.join("sweep/seed1"))).unwrap();
        assert_eq!(itself.run("."), Some(root.join("sweep/seed1/.").components().collect()));
        assert_eq!(itself.list()[0]["id"], ".");
        assert_eq!(directory.list()[0]["id"], "sweep/seed1");
    }
}
