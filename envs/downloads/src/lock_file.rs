use std::fs::File;
use std::io;
use std::path::Path;

/// Opens the file in `directory` whose lock serialises downloads, and creates it if there is none.
pub fn open_lock_file(directory: &Path) -> io::Result<File> {
    let path = directory.join(".lock");
    match File::create(&path) {
        // Another user of the machine created it. Locking needs no more than reading.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => File::open(path),
        file => file,
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
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
}
