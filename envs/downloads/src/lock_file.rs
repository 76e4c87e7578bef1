//! The file whose lock serialises downloads.

use std::fs::{self, File};
use std::io;
use std::path::Path;

/// Opens the file in `directory` whose lock serialises downloads, and creates it if there is none. Fails if it is not a
/// regular file: a link could lead to a file of somebody else.
pub fn open_lock_file(directory: &Path) -> io::Result<File> {
    let path = directory.join(".lock");
    if fs::symlink_metadata(&path).is_ok_and(|metadata| !metadata.is_file()) {
        let message = format!("{} is not a regular file", path.display());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    match File::options().create(true).truncate(false).write(true).open(&path) {
        // Another user of the machine created it. Permission to read suffices for locking.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => File::open(path),
        file => file,
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_file_that_only_its_owner_may_write_can_be_locked() {
        let directory = tempfile::tempdir().unwrap();
        drop(open_lock_file(directory.path()).unwrap());
        let path = directory.path().join(".lock");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
        let first = open_lock_file(directory.path()).unwrap();
        first.lock().unwrap();
        assert!(open_lock_file(directory.path()).unwrap().try_lock().is_err());
    }

    #[test]
    fn a_link_is_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        let outside = directory.path().join("outside");
        let [precious, missing] = ["precious", "missing"].map(|name| directory.path().join(name));
        fs::create_dir(&outside).unwrap();
        fs::write(&precious, "x").unwrap();
        for target in [&precious, &missing] {
            std::os::unix::fs::symlink(target, outside.join(".lock")).unwrap();
            assert!(open_lock_file(&outside).unwrap_err().to_string().ends_with("is not a regular file"));
            fs::remove_file(outside.join(".lock")).unwrap();
        }
        assert_eq!(fs::read_to_string(&precious).unwrap(), "x");
        assert!(!missing.exists());
    }
}
