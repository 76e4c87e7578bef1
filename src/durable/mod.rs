//! Atomic writes of files and directories: a name always refers to the complete old or the complete new state.
//!
//! Each platform's file has the same interface: `rename` and `remove_dir_all` as in the standard library, and
//! `sync_directory`, which makes a rename in a directory durable.

// Other modules write files through this one.
#![allow(clippy::disallowed_methods)]

#[cfg(unix)]
mod unix;
#[cfg(not(unix))]
mod windows;

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result, ensure};

use crate::enclosure::{self, parent};

#[cfg(unix)]
use unix::{remove_dir_all, rename, sync_directory};
#[cfg(not(unix))]
use windows::{remove_dir_all, rename, sync_directory};

/// Prefix of the names of incomplete files and directories.
const PARTIAL: &str = ".partial-";
/// Prefix of the names of directories that are being removed.
const REMOVED: &str = ".removed-";

/// The incomplete files of this process.
static INCOMPLETE: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn incomplete() -> MutexGuard<'static, Vec<PathBuf>> {
    INCOMPLETE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Deletes the incomplete files of this process, which is about to end.
pub(crate) fn delete_incomplete_files() {
    for path in incomplete().drain(..) {
        // Nothing can be done about an error.
        let _ = fs::remove_file(path);
    }
}

/// Writes a file atomically.
pub(crate) fn write(path: &Path, contents: &[u8]) -> Result<()> {
    let file = PartialFile::create(path)?;
    file.complete(|mut file, _| Ok(file.write_all(contents)?))
}

/// Writes a file in the directory `root` atomically. Fails if a symbolic link leads outside.
pub(crate) fn write_inside(root: &Path, path: &Path, contents: &[u8]) -> Result<()> {
    enclosure::check_file(root, path).with_context(|| cannot_write(path))?;
    write(path, contents)
}

/// A file that receives its name when it is complete. Until then it is a hidden file in the same directory, which is
/// deleted after an error or a signal. Pipes and devices are written directly.
pub(crate) struct PartialFile {
    /// The path that errors name.
    given: PathBuf,
    path: PathBuf,
    /// The path of the hidden file, or `path` itself.
    hidden: PathBuf,
    file: File,
}

impl PartialFile {
    /// Creates the hidden file. An error reports that `given` cannot be written, before its contents are computed.
    pub(crate) fn create(given: &Path) -> Result<Self> {
        let path = behind_links(given).with_context(|| cannot_write(given))?;
        let (hidden, file) = Self::open(&path).with_context(|| cannot_write(given))?;
        Ok(Self { given: given.to_owned(), path, hidden, file })
    }

    fn open(path: &Path) -> Result<(PathBuf, File)> {
        let directory = parent(path);
        ensure!(directory.exists(), "the directory {} does not exist", directory.display());
        if let Ok(existing) = fs::metadata(path) {
            ensure!(!existing.is_dir(), "it is a directory");
            if !existing.is_file() {
                return Ok((path.to_owned(), File::options().write(true).open(path)?));
            }
        }
        // Unlike temporary files of the library, this one has the usual permissions, and errors do not contain its
        // name.
        let create = |path: &Path| File::options().write(true).create_new(true).open(path);
        let partial =
            tempfile::Builder::new().prefix(PARTIAL).disable_cleanup(true).make_in(parent(path), create)?;
        let (file, hidden) = partial.into_parts();
        let hidden = hidden.to_path_buf();
        incomplete().push(hidden.clone());
        Ok((hidden, file))
    }

    /// Writes the contents with `write`, to the file or its path, and gives the file its name.
    pub(crate) fn complete(self, write: impl FnOnce(&File, &Path) -> Result<()>) -> Result<()> {
        write(&self.file, &self.hidden)
            .and_then(|()| Ok(self.publish()?))
            .with_context(|| cannot_write(&self.given))
    }

    /// Flushes the file to disk and gives it its name.
    fn publish(&self) -> io::Result<()> {
        if self.hidden != self.path {
            self.file.sync_all()?;
            rename(&self.hidden, &self.path)?;
            sync_directory(parent(&self.path))?;
        }
        Ok(())
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        let mut incomplete = incomplete();
        if let Some(index) = incomplete.iter().position(|path| *path == self.hidden) {
            incomplete.swap_remove(index);
            // A complete file has been renamed by now.
            let _ = fs::remove_file(&self.hidden);
        }
    }
}

/// Follows symbolic links, so that a file is written through a link instead of replacing it. The file may not exist
/// yet.
fn behind_links(path: &Path) -> io::Result<PathBuf> {
    match fs::canonicalize(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => match fs::read_link(path) {
            Ok(target) if !path.exists() => behind_links(&parent(path).join(target)),
            // Not a link, or a link such as /dev/stdout to a pipe, which has no path.
            _ => Ok(path.to_owned()),
        },
        target => target,
    }
}

fn cannot_write(path: &Path) -> String {
    format!("cannot write {}", path.display())
}

/// Creates `directory`, whose files `fill` writes into a directory of another name. The parent must exist, and no other
/// process may write to it.
pub(crate) fn write_directory(directory: &Path, fill: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let name = directory.file_name().unwrap_or_default().to_string_lossy();
    let temporary = parent(directory).join(format!("{PARTIAL}{name}"));
    let written = fill_and_rename(&temporary, directory, fill);
    if written.is_err() {
        // It may not exist. Its error would hide the one above.
        let _ = remove_dir_all(&temporary);
    }
    written
}

fn fill_and_rename(temporary: &Path, directory: &Path, fill: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    // A crash may have left an incomplete directory.
    match remove_dir_all(temporary) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
        _ => fs::create_dir(temporary)?,
    }
    fill(temporary)?;
    sync_directory(temporary)?;
    rename(temporary, directory)?;
    Ok(sync_directory(parent(directory))?)
}

/// Moves a directory of files to a new name. It is in the directory `root`, from which links must not lead outside if
/// the files have to be copied to another file system.
pub(crate) fn move_directory(root: &Path, from: &Path, to: &Path) -> Result<()> {
    match rename(from, to) {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
            write_directory(to, |partial| copy_files(root, from, partial))?;
            return Ok(remove_directory(from)?);
        }
        renamed => renamed?,
    }
    sync_directory(parent(to))?;
    Ok(sync_directory(parent(from))?)
}

/// Copies the files of a directory in `root` into another one. Links must not lead outside `root`.
fn copy_files(root: &Path, from: &Path, to: &Path) -> Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let copied = enclosure::copy(root, &entry.path(), &to.join(entry.file_name()));
        copied.with_context(|| format!("cannot copy {}", entry.path().display()))?;
    }
    Ok(())
}

/// Removes a directory. A crash never leaves an incomplete directory under its name.
pub(crate) fn remove_directory(directory: &Path) -> io::Result<()> {
    let name = directory.file_name().unwrap_or_default().to_string_lossy();
    let removed = parent(directory).join(format!("{REMOVED}{name}"));
    rename(directory, &removed)?;
    remove_dir_all(removed)
}

/// Removes the remains of a crash from a directory that no other process writes to.
pub(crate) fn remove_remains(directory: &Path) -> io::Result<()> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let kind = entry.file_type()?;
        let is_remains = name.starts_with(PARTIAL) || name.starts_with(REMOVED);
        if is_remains && (kind.is_dir() || kind.is_symlink()) {
            // Removes a symbolic link itself, not its target.
            remove_dir_all(entry.path())?;
        }
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

    fn fill_the_disk(mut file: &File, _: &Path) -> Result<()> {
        file.write_all(b"half")?;
        Err(io::Error::from(io::ErrorKind::StorageFull).into())
    }

    #[test]
    fn a_file_replaces_the_old_one_only_when_it_is_complete() {
        let temp = TempDir::new().unwrap();
        let path = temp.path().join("file");
        let names = || fs::read_dir(temp.path()).unwrap().count();
        write(&path, b"old").unwrap();
        let error = PartialFile::create(&path).unwrap().complete(fill_the_disk).unwrap_err();
        assert_eq!(format!("{error:#}"), format!("cannot write {}: no storage space", path.display()));
        assert_eq!((fs::read(&path).unwrap(), names()), (b"old".to_vec(), 1));
        drop(PartialFile::create(&path).unwrap());
        write(&path, b"new").unwrap();
        assert_eq!((fs::read(&path).unwrap(), names()), (b"new".to_vec(), 1));
        let error = write(&temp.path().join("nowhere/file"), b"").unwrap_err();
        assert!(!format!("{error:#}").contains(PARTIAL), "{error:#}");
        assert!(format!("{:#}", write(temp.path(), b"").unwrap_err()).ends_with("it is a directory"));
    }

    #[cfg(unix)]
    #[test]
    fn the_targets_of_links_are_never_removed() {
        let temp = TempDir::new().unwrap();
        let [directory, outside] = ["directory", "outside"].map(|name| temp.path().join(name));
        fs::create_dir_all(outside.join("kept")).unwrap();
        fs::create_dir(&directory).unwrap();
        for name in [".partial-a", ".removed-b", "update-1"] {
            std::os::unix::fs::symlink(&outside, directory.join(name)).unwrap();
        }
        remove_remains(&directory).unwrap();
        remove_directory(&directory.join("update-1")).unwrap();
        assert!(outside.join("kept").exists());
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 0);
    }

    #[cfg(unix)]
    #[test]
    fn files_have_the_usual_permissions_and_links_and_devices_stay() {
        use std::os::unix::fs::PermissionsExt;

        let temp = TempDir::new().unwrap();
        let [usual, written, link] = ["usual", "written", "link"].map(|name| temp.path().join(name));
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
        fs::write(&usual, "").unwrap();
        std::os::unix::fs::symlink(&written, &link).unwrap();
        write(&written, b"first").unwrap();
        write(&link, b"second").unwrap();
        assert_eq!(mode(&written), mode(&usual));
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&written).unwrap(), b"second");
        let [dangling, target, circle] =
            ["dangling", "inside/target", "circle"].map(|name| temp.path().join(name));
        fs::create_dir(temp.path().join("inside")).unwrap();
        std::os::unix::fs::symlink("inside/target", &dangling).unwrap();
        write(&dangling, b"through").unwrap();
        assert!(fs::symlink_metadata(&dangling).unwrap().is_symlink());
        assert_eq!(fs::read(&target).unwrap(), b"through");
        std::os::unix::fs::symlink("circle", &circle).unwrap();
        assert!(write(&circle, b"lost").is_err() && fs::symlink_metadata(&circle).unwrap().is_symlink());
        write(Path::new("/dev/null"), b"lost").unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn pipes_are_written_to_directly() {
        use std::io::Read;
        use std::os::fd::AsRawFd;

        let (mut reader, writer) = io::pipe().unwrap();
        write(Path::new(&format!("/proc/self/fd/{}", writer.as_raw_fd())), b"through").unwrap();
        drop(writer);
        let mut read = Vec::new();
        reader.read_to_end(&mut read).unwrap();
        assert_eq!(read, b"through");
    }

    #[test]
    fn the_remains_of_a_crash_are_replaced() {
        let temp = TempDir::new().unwrap();
        fs::create_dir(temp.path().join(format!("{PARTIAL}agent"))).unwrap();
        fs::write(temp.path().join(format!("{PARTIAL}agent/old")), [1]).unwrap();
        let agent = temp.path().join("agent");
        write_directory(&agent, |partial| Ok(fs::write(partial.join("new"), [2])?)).unwrap();
        assert!(agent.join("new").exists() && !agent.join("old").exists());
        assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_failed_write_leaves_nothing() {
        let temp = TempDir::new().unwrap();
        let taken = temp.path().join("taken");
        fs::create_dir_all(taken.join("inside")).unwrap();
        let fill = |partial: &Path| Ok(fs::write(partial.join("file"), [1])?);
        assert!(write_directory(&taken, fill).is_err());
        assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 1);
        assert!(taken.join("inside").exists());
    }
}
