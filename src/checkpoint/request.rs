//! Requests for a checkpoint of a run in training: an empty file in its directory. The run removes the file after it
//! has written the checkpoint.
//!
//! A file works between machines that share a file system and its locks, between users, and on every system; a signal
//! does not. Only its name counts: the run neither opens it nor follows it if it is a link.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

/// The name of the file.
const FILE: &str = "checkpoint.request";
/// The least time between two checks of the directory, which may be on a slow file system.
const CHECK_INTERVAL: Duration = Duration::from_millis(200);

/// Requests a checkpoint of the run in a directory. Several requests at once are one: returns true if there already was
/// one.
#[allow(clippy::disallowed_methods, reason = "a new file is neither a link nor a pipe")]
pub(crate) fn request(run_dir: &Path) -> Result<bool> {
    let file = run_dir.join(FILE);
    let created = File::options().write(true).create_new(true).open(&file);
    match created {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            ensure!(is_file(&file), "{} is not a file; remove it", file.display());
            Ok(true)
        }
        created => created.map(|_| false).with_context(|| format!("cannot write {}", file.display())),
    }
}

/// Returns true while a request for a checkpoint waits for an answer from the run.
pub(crate) fn is_requested(run_dir: &Path) -> bool {
    is_file(&run_dir.join(FILE))
}

/// Removes a request that no process will answer. Ignores an error: a request that stays is answered by the next
/// process that trains the run.
pub(crate) fn withdraw_request(run_dir: &Path) {
    if is_requested(run_dir) {
        let _ = fs::remove_file(run_dir.join(FILE));
    }
}

/// Returns true if this is a file itself, rather than a link, a directory or a pipe.
fn is_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file())
}

/// The requests to a run that this process trains.
pub(super) struct Requests {
    file: PathBuf,
    last_check: Option<Instant>,
    /// True if the file was there.
    is_pending: bool,
    /// True if the file cannot be removed. It would otherwise request a checkpoint after every update.
    is_stuck: bool,
}

impl Requests {
    pub(super) fn new(run_dir: &Path) -> Self {
        Self { file: run_dir.join(FILE), last_check: None, is_pending: false, is_stuck: false }
    }

    /// Returns true if a checkpoint is requested.
    pub(super) fn is_pending(&mut self) -> bool {
        let may_check = self.last_check.is_none_or(|last| last.elapsed() >= CHECK_INTERVAL);
        if !self.is_pending && !self.is_stuck && may_check {
            self.last_check = Some(Instant::now());
            self.is_pending = is_file(&self.file);
        }
        self.is_pending
    }

    /// Answers the request after a checkpoint.
    pub(super) fn answer(&mut self) -> Result<()> {
        self.is_pending = false;
        match fs::remove_file(&self.file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                self.is_stuck = true;
                Err(error).with_context(|| {
                    format!("cannot remove {}; this run ignores further requests", self.file.display())
                })
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    fn requests(run: &TempDir) -> Requests {
        Requests::new(run.path())
    }

    #[test]
    fn a_request_lasts_until_it_is_answered() {
        let run = TempDir::new().unwrap();
        let mut requests = requests(&run);
        assert!(!requests.is_pending());
        assert!(!request(run.path()).unwrap());
        assert!(request(run.path()).unwrap(), "it joins the first one");
        requests.last_check = None;
        assert!(requests.is_pending() && is_requested(run.path()));
        requests.answer().unwrap();
        assert!(!requests.is_pending() && !is_requested(run.path()));
        requests.answer().unwrap();
    }

    #[test]
    fn a_request_before_the_first_check_counts() {
        let run = TempDir::new().unwrap();
        request(run.path()).unwrap();
        assert!(requests(&run).is_pending() && is_requested(run.path()));
        withdraw_request(run.path());
        assert!(!requests(&run).is_pending() && !is_requested(run.path()));
    }

    #[cfg(unix)]
    #[test]
    fn links_and_directories_request_nothing_and_stay() {
        let run = TempDir::new().unwrap();
        let (file, target) = (run.path().join(FILE), run.path().join("target"));
        fs::write(&target, "x").unwrap();
        std::os::unix::fs::symlink(&target, &file).unwrap();
        assert!(!requests(&run).is_pending() && !is_requested(run.path()));
        let error = request(run.path()).unwrap_err().to_string();
        assert!(error.ends_with("checkpoint.request is not a file; remove it"), "{error}");
        assert_eq!((fs::read(&target).unwrap(), file.is_symlink()), (b"x".to_vec(), true));
        fs::remove_file(&file).unwrap();
        fs::create_dir(&file).unwrap();
        assert!(!requests(&run).is_pending() && request(run.path()).is_err());
    }

    #[test]
    fn a_request_that_cannot_be_removed_is_answered_once() {
        let run = TempDir::new().unwrap();
        let mut requests = requests(&run);
        request(run.path()).unwrap();
        assert!(requests.is_pending());
        // In the place of the file, a directory cannot be removed by anyone.
        fs::remove_file(run.path().join(FILE)).unwrap();
        fs::create_dir(run.path().join(FILE)).unwrap();
        let error = requests.answer().unwrap_err().to_string();
        assert!(error.ends_with("this run ignores further requests"), "{error}");
        fs::remove_dir(run.path().join(FILE)).unwrap();
        request(run.path()).unwrap();
        requests.last_check = None;
        assert!(!requests.is_pending());
    }
}
