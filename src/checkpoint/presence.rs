use std::fs::{self, File};
use std::io;
use std::path::Path;

/// The state of the directory of a run in training.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    Present,
    /// It was deleted or moved.
    Missing,
    /// Another run has taken its place.
    Replaced,
}

impl Presence {
    /// Checks whether `path` still refers to the open file `held`.
    pub(super) fn of(held: &File, path: &Path) -> Self {
        match fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::Missing,
            // The file system may have failed temporarily.
            Err(_) => Self::Present,
            Ok(there) => match held.metadata() {
                Ok(held) if !is_same(&held, &there) => Self::Replaced,
                _ => Self::Present,
            },
        }
    }
}

#[cfg(unix)]
fn is_same(held: &fs::Metadata, there: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;

    (held.dev(), held.ino()) == (there.dev(), there.ino())
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
        let held = File::create(&path).unwrap();
        assert_eq!(Presence::of(&held, &path), Presence::Present);
        fs::rename(&path, temp.path().join("moved")).unwrap();
        assert_eq!(Presence::of(&held, &path), Presence::Missing);
        File::create(&path).unwrap();
        assert_eq!(Presence::of(&held, &path), Presence::Replaced);
    }
}
