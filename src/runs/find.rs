use std::fs;
use std::path::{Path, PathBuf};

use crate::checkpoint::{CONFIG, PROVENANCE};

/// Returns the directories of runs below `directory`, or `directory` itself if it is one. Skips hidden directories, and
/// does not follow symbolic links, which may form cycles or lead to the same run again.
pub(crate) fn runs_below(directory: &Path) -> Vec<PathBuf> {
    let mut runs = Vec::new();
    let mut pending = vec![directory.to_owned()];
    while let Some(directory) = pending.pop() {
        if is_run(&directory) {
            runs.push(directory);
        } else {
            pending.extend(subdirectories(&directory));
        }
    }
    runs
}

/// Returns true if a run was created in this directory, even if its configuration file is missing since.
pub(crate) fn is_run(directory: &Path) -> bool {
    let has = |name| directory.join(name).is_file();
    has(PROVENANCE) && (has(CONFIG) || directory.join("checkpoints").is_dir())
}

/// Returns the subdirectories; none of a directory that cannot be read.
fn subdirectories(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let is_visible = |entry: &fs::DirEntry| !entry.file_name().as_encoded_bytes().starts_with(b".");
    let directories = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    directories.filter(is_visible).map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    fn create_directory(directory: &Path, files: &[&str]) {
        fs::create_dir_all(directory).unwrap();
        for file in files {
            fs::write(directory.join(file), "x").unwrap();
        }
    }

    #[test]
    fn finds_nested_runs_among_other_files() {
        let temp = TempDir::new().unwrap();
        let create = |name: &str, files: &[&str]| create_directory(&temp.path().join(name), files);
        create("plain", &[CONFIG, PROVENANCE]);
        create("sweep/gamma/seed1", &[CONFIG, PROVENANCE]);
        create("lost/checkpoints", &[]);
        create("lost", &[PROVENANCE]);
        create("plain/checkpoints/update-1", &[CONFIG, PROVENANCE]);
        create(".removed-run", &[CONFIG, PROVENANCE]);
        create("project", &[CONFIG]);
        create("notes", &[PROVENANCE]);
        create("", &["notes.txt"]);
        #[cfg(unix)]
        for (target, link) in [("plain", "again"), (".", "circle"), ("nowhere", "dangling")] {
            std::os::unix::fs::symlink(temp.path().join(target), temp.path().join(link)).unwrap();
        }
        let mut names: Vec<PathBuf> = runs_below(temp.path());
        names.sort();
        assert_eq!(names, ["lost", "plain", "sweep/gamma/seed1"].map(|name| temp.path().join(name)));
        assert_eq!(runs_below(&temp.path().join("plain")), [temp.path().join("plain")]);
        assert!(runs_below(&temp.path().join("nowhere")).is_empty());
    }
}
