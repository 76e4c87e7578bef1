use std::fs::{self, File};
use std::io;
use std::path::Path;

/// The state of the directory of a run in training.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    Present,
    /// It was deleted or moved.
    Missing,
    /// There is another directory at its path.
    Replaced,
}

impl Presence {
    /// Checks if `path` still refers to the open file `open_file`.
    pub(super) fn check(open_file: &File, path: &Path) -> Self {
        match fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::Missing,
            // The file system may have failed temporarily.
            Err(_) => Self::Present,
            Ok(current) => match open_file.metadata() {
                Ok(opened) if !is_same(&opened, &current) => Self::Replaced,
                _ => Self::Present,
            },
        }
    }
}

#[cfg(unix)]
fn is_same(first: &fs::Metadata, second: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;

    (first.dev(), first.ino()) == (second.dev(), second.ino())
}

/// Returns true: other systems do not delete open files.
#[cfg(not(unix))]
fn is_same(_: &fs::Metadata, _: &fs::Metadata) -> bool {
    true
}

#[cfg(all(test, unix))]
mod tests {
    use tempfile::TempDir;

    use super::*;

    #[test]
    fn a_deleted_and_a_replaced_directory_are_recognised() {
        let temp = TempDir::new().unwrap();
        let path = temp.path().join("file");
        let file = File::create(&path).unwrap();
        assert_eq!(Presence::check(&file, &path), Presence::Present);
        fs::rename(&path, temp.path().join("moved")).unwrap();
        assert_eq!(Presence::check(&file, &path), Presence::Missing);
        File::create(&path).unwrap();
        assert_eq!(Presence::check(&file, &path), Presence::Replaced);
    }
}
