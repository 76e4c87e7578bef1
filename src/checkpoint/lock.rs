//! The lock file of a run, held by the process that writes to the run.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::request::withdraw_request;
use crate::enclosure;
use crate::files;

/// The number of attempts to lock it.
const ATTEMPTS: usize = 5;

/// Returns the path of the file.
pub(super) fn file(run_dir: &Path) -> PathBuf {
    run_dir.join("run.lock")
}

/// Locks a run for this process, until the file is closed, and drops a request for a checkpoint that an earlier process
/// did not answer. Fails if another process has locked it.
pub(crate) fn acquire(run_dir: &Path) -> Result<File> {
    let cannot = || format!("cannot write the run directory {}", run_dir.display());
    let path = file(run_dir);
    let opened = enclosure::check(run_dir, &path).and_then(|()| files::open_or_create(&path));
    let opened = opened.with_context(|| format!("cannot open {}", path.display())).with_context(cannot)?;
    for _ in 0..ATTEMPTS {
        match opened.try_lock() {
            // `is_locked` may hold a shared lock at this moment.
            Err(TryLockError::WouldBlock) => thread::sleep(Duration::from_millis(10)),
            // File systems without locks: train anyway.
            Ok(()) | Err(TryLockError::Error(_)) => {
                // At once: `ale-train checkpoint` may request one from now on.
                withdraw_request(run_dir);
                return Ok(opened);
            }
        }
    }
    bail!("another process is training the run {}", run_dir.display())
}

/// Returns true if a process writes to a run.
pub(crate) fn is_locked(run_dir: &Path) -> bool {
    matches!(try_shared(run_dir), Some(Err(TryLockError::WouldBlock)))
}

/// Returns true if a process may be writing to a run: it has locked the run, or the file system has no locks.
pub(crate) fn may_be_locked(run_dir: &Path) -> bool {
    matches!(try_shared(run_dir), Some(Err(_)))
}

/// Tries to lock a run and releases the lock again. The lock is shared, because several processes may try at once.
/// Returns nothing if no process has ever locked the run.
fn try_shared(run_dir: &Path) -> Option<Result<(), TryLockError>> {
    let path = file(run_dir);
    enclosure::check(run_dir, &path).ok()?;
    Some(files::open(&path).ok()?.try_lock_shared())
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::super::request::{is_requested, request};
    use super::*;

    #[test]
    fn locking_a_run_drops_a_request_to_an_earlier_process() {
        let run = TempDir::new().unwrap();
        request(run.path()).unwrap();
        let _lock = acquire(run.path()).unwrap();
        assert!(!is_requested(run.path()));
        request(run.path()).unwrap();
        assert!(acquire(run.path()).is_err() && is_requested(run.path()));
    }

    #[test]
    fn only_one_process_locks_a_run() {
        let run = TempDir::new().unwrap();
        let first = acquire(run.path()).unwrap();
        let error = acquire(run.path()).unwrap_err().to_string();
        assert!(error.starts_with("another process is training the run"), "{error}");
        assert!(is_locked(run.path()) && may_be_locked(run.path()));
        drop(first);
        assert!(!is_locked(run.path()) && !may_be_locked(run.path()));
        assert!(!may_be_locked(&run.path().join("nowhere")));
        assert!(acquire(run.path()).is_ok());
    }
}
