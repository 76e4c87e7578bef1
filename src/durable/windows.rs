//! Windows does not rename or remove files that another program has opened, such as a virus scanner, an indexer or a
//! reader of the run. They soon close them.

use std::fs;
use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// The most time to wait for another program.
const PATIENCE: Duration = Duration::from_secs(2);
const INTERVAL: Duration = Duration::from_millis(20);

/// The errors about files that another program has opened: `ERROR_ACCESS_DENIED`, `ERROR_SHARING_VIOLATION`,
/// `ERROR_LOCK_VIOLATION` and `ERROR_DIR_NOT_EMPTY`.
const IN_USE: [i32; 4] = [5, 32, 33, 145];

pub(super) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    patiently(|| fs::rename(from, to))
}

pub(super) fn remove_dir_all(directory: &Path) -> io::Result<()> {
    patiently(|| fs::remove_dir_all(directory))
}

/// Returns at once: the system has no such operation, and its file system records renames in a journal.
pub(super) fn sync_directory(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Repeats an operation as long as it fails because of another program, but not for long.
fn patiently(operation: impl Fn() -> io::Result<()>) -> io::Result<()> {
    let start = Instant::now();
    loop {
        match operation() {
            Err(error) if is_in_use(&error) && start.elapsed() < PATIENCE => thread::sleep(INTERVAL),
            outcome => return outcome,
        }
    }
}

fn is_in_use(error: &io::Error) -> bool {
    error.raw_os_error().is_some_and(|code| IN_USE.contains(&code))
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::windows::fs::OpenOptionsExt;

    use tempfile::TempDir;

    use super::*;

    /// Opens a file for a while so that nobody else may.
    fn hold(path: &Path, time: Duration) -> thread::JoinHandle<()> {
        let file = File::options().read(true).share_mode(0).open(path).unwrap();
        thread::spawn(move || {
            thread::sleep(time);
            drop(file);
        })
    }

    #[test]
    fn files_that_another_program_has_opened_are_renamed_and_removed_once_it_closes_them() {
        let temp = TempDir::new().unwrap();
        let [from, to] = ["from", "to"].map(|name| temp.path().join(name));
        fs::create_dir(&from).unwrap();
        fs::write(from.join("file"), "x").unwrap();
        let holder = hold(&from.join("file"), INTERVAL * 5);
        rename(&from.join("file"), &from.join("renamed")).unwrap();
        holder.join().unwrap();
        let holder = hold(&from.join("renamed"), INTERVAL * 5);
        remove_dir_all(&from).unwrap();
        holder.join().unwrap();
        assert!(!from.exists());
        assert_eq!(rename(&from, &to).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
