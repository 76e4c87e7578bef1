//! Atomic writes: a crash at any time leaves the old or the new state.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

/// Prefix of the names of incomplete files and directories.
const PARTIAL: &str = ".partial-";
/// Prefix of the names of directories that are being removed.
const REMOVED: &str = ".removed-";

/// Creates `directory` with the given files. Its parent must exist.
pub(super) fn write_directory(directory: &Path, files: &[(&str, Vec<u8>)]) -> io::Result<()> {
    let parent = parent(directory);
    let temporary = tempfile::Builder::new().prefix(PARTIAL).tempdir_in(parent)?;
    for (name, contents) in files {
        let mut file = File::create(temporary.path().join(name))?;
        file.write_all(contents)?;
        file.sync_all()?;
    }
    sync_directory(temporary.path())?;
    fs::rename(temporary.path(), directory)?;
    // It was renamed, so there is nothing left to remove.
    let _ = temporary.keep();
    sync_directory(parent)
}

/// Replaces a file atomically.
pub(super) fn replace_file(path: &Path, contents: &[u8]) -> io::Result<()> {
    let parent = parent(path);
    let mut file = tempfile::Builder::new().prefix(PARTIAL).tempfile_in(parent)?;
    file.write_all(contents)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    sync_directory(parent)
}

/// Removes a directory. A crash never leaves an incomplete directory under its name.
pub(super) fn remove_directory(directory: &Path) -> io::Result<()> {
    let name = directory.file_name().unwrap_or_default().to_string_lossy();
    let removed = parent(directory).join(format!("{REMOVED}{name}"));
    fs::rename(directory, &removed)?;
    fs::remove_dir_all(removed)
}

/// Removes the remains of a crash from a directory that no other process writes to.
pub(super) fn remove_remains(directory: &Path) -> io::Result<()> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if entry.file_type()?.is_dir() && (name.starts_with(PARTIAL) || name.starts_with(REMOVED)) {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Syncs a directory to the disk, which makes a rename in it durable. Does nothing on Windows, which has no such operation.
fn sync_directory(directory: &Path) -> io::Result<()> {
    if cfg!(unix) {
        File::open(directory)?.sync_all()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    #[test]
    fn removes_only_the_remains_of_a_crash() {
        let temp = TempDir::new().unwrap();
        for name in [".partial-a", ".removed-update-1", "update-2", ".git"] {
            fs::create_dir(temp.path().join(name)).unwrap();
            fs::write(temp.path().join(name).join("file"), "x").unwrap();
        }
        remove_remains(temp.path()).unwrap();
        let mut left: Vec<_> =
            fs::read_dir(temp.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, [".git", "update-2"]);
        remove_remains(&temp.path().join("nowhere")).unwrap();
    }

    #[test]
    fn a_failed_write_leaves_nothing() {
        let temp = TempDir::new().unwrap();
        let taken = temp.path().join("taken");
        fs::create_dir_all(taken.join("inside")).unwrap();
        assert!(write_directory(&taken, &[("file", vec![1])]).is_err());
        assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 1);
        assert!(taken.join("inside").exists());
    }
}
