//! Directories whose contents may come from others, such as runs. Symbolic links in them must not lead outside.
//! Otherwise a command would read, change or delete files that it was not given.
//!
//! The directory itself may be a link, and links may lead from one place in it to another.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::files;

/// Fails if a symbolic link in the directory `root` leads from `path`, which is below it, to a place outside. The file
/// may not exist.
pub(crate) fn check(root: &Path, path: &Path) -> io::Result<()> {
    let target = resolved(path)?;
    if target.starts_with(fs::canonicalize(root)?) {
        return Ok(());
    }
    let (path, root, target) = (path.display(), root.display(), target.display());
    let message =
        format!("a symbolic link leads from {path} to {target}, outside {root}; replace it by the files");
    Err(io::Error::new(ErrorKind::InvalidInput, message))
}

/// Fails unless `path` may be written: it must not lead outside `root`, nor to anything but a regular file.
pub(crate) fn check_file(root: &Path, path: &Path) -> io::Result<()> {
    check(root, path)?;
    files::check_regular(path)
}

/// Reads a file of at most `limit_bytes` bytes in the directory `root`.
pub(crate) fn read(root: &Path, path: &Path, limit_bytes: u64) -> io::Result<Vec<u8>> {
    check(root, path)?;
    files::read(path, limit_bytes)
}

/// Reads a file of at most `limit_bytes` bytes in the directory `root` as text.
pub(crate) fn read_text(root: &Path, path: &Path, limit_bytes: u64) -> io::Result<String> {
    check(root, path)?;
    files::read_text(path, limit_bytes)
}

/// Copies a file in the directory `root` to a new file elsewhere.
pub(crate) fn copy(root: &Path, from: &Path, to: &Path) -> io::Result<()> {
    check(root, from)?;
    files::copy(from, to)
}

/// Follows all symbolic links. The file at their end may not exist.
fn resolved(path: &Path) -> io::Result<PathBuf> {
    match fs::canonicalize(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        target => return target,
    }
    if let Ok(target) = fs::read_link(path) {
        return resolved(&parent(path).join(target));
    }
    let name = path.file_name().ok_or(ErrorKind::NotFound)?;
    Ok(resolved(parent(path))?.join(name))
}

/// Returns the directory that contains a path.
pub(crate) fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use tempfile::TempDir;

    use super::*;

    /// Returns a directory with `root`, which has a file and a subdirectory, and `outside`.
    fn directories() -> (TempDir, PathBuf) {
        let temp = TempDir::new().unwrap();
        let root = temp.path().join("root");
        fs::create_dir_all(root.join("inside")).unwrap();
        fs::create_dir(temp.path().join("outside")).unwrap();
        fs::write(root.join("file"), "x").unwrap();
        (temp, root)
    }

    #[test]
    fn links_that_lead_outside_are_refused() {
        let (temp, root) = directories();
        for (name, target) in [
            ("absolute", temp.path().join("outside").display().to_string()),
            ("relative", "../outside".to_owned()),
            ("dangling", "../outside/missing".to_owned()),
            ("neighbour", "../root-2".to_owned()),
            ("indirect", "relative".to_owned()),
            ("itself", "..".to_owned()),
        ] {
            symlink(target, root.join(name)).unwrap();
            for path in [root.join(name), root.join(name).join("missing/file")] {
                let error = check(&root, &path).unwrap_err().to_string();
                assert!(error.contains(name) && error.contains("outside"), "{error}");
            }
        }
        symlink("circle", root.join("circle")).unwrap();
        assert!(check(&root, &root.join("circle")).is_err());
        assert!(read(&root, &root.join("../outside"), 9).is_err());
    }

    #[test]
    fn links_that_stay_inside_and_links_to_the_directory_are_followed() {
        let (temp, root) = directories();
        symlink("../file", root.join("inside/link")).unwrap();
        symlink("inside/missing", root.join("dangling")).unwrap();
        symlink("root", temp.path().join("alias")).unwrap();
        for root in [root, temp.path().join("alias"), temp.path().join("root/../alias")] {
            assert_eq!(read(&root, &root.join("inside/link"), 9).unwrap(), b"x");
            check(&root, &root.join("dangling")).unwrap();
            check_file(&root, &root.join("not/yet/there")).unwrap();
            assert!(check_file(&root, &root.join("inside")).is_err());
        }
        let missing = read(&temp.path().join("nowhere"), &temp.path().join("nowhere/file"), 9);
        assert_eq!(missing.unwrap_err().kind(), ErrorKind::NotFound);
    }
}
