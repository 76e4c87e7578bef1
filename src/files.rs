//! Reading of files that may come from others: runs, agents, experiments.
//!
//! Only regular files are opened, so that no pipe and no device blocks the program, and each kind of file is read up to
//! the length in [`limit`]. `clippy.toml` keeps the application from opening files in another way.

// Here, files are opened with the checks that the lint demands.
#![allow(clippy::disallowed_methods)]

pub(crate) use std::fs::File;
use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;

use crate::memory;
use crate::quantity;

/// The largest length of each kind of file, in bytes. Longer ones are not read.
pub(crate) mod limit {
    const KIB: u64 = 1 << 10;
    const MIB: u64 = 1 << 20;
    const GIB: u64 = 1 << 30;

    /// `config.toml`, and other experiments in TOML.
    pub(crate) const EXPERIMENT: u64 = 16 * MIB;
    /// `run.json`.
    pub(crate) const PROVENANCE: u64 = 16 * MIB;
    /// `scores.json`.
    pub(crate) const SCORES: u64 = GIB;
    /// `metrics.jsonl`.
    pub(crate) const CURVES: u64 = 16 * GIB;
    /// `manifest.json` of a checkpoint.
    pub(crate) const MANIFEST: u64 = 64 * KIB;
    /// `progress.json` of a checkpoint.
    pub(crate) const PROGRESS: u64 = 64 * MIB;
    /// `learner.bin` and `environments.bin` of a checkpoint, which may contain a replay.
    pub(crate) const STATE: u64 = 1024 * GIB;
    /// An exported agent.
    pub(crate) const AGENT: u64 = 16 * GIB;
    /// The actions of `trace`.
    pub(crate) const ACTIONS: u64 = 256 * MIB;
    /// A manual page that the program has written.
    pub(crate) const MANUAL_PAGE: u64 = MIB;
}

/// The length above which a file must fit into the available memory.
const LARGE: u64 = 64 << 20;

/// Opens a regular file. Never waits for the other end of a pipe.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    regular(OpenOptions::new().read(true), path)
}

/// Opens a regular file to read and write it, and creates it if there is none.
pub(crate) fn open_or_create(path: &Path) -> io::Result<File> {
    regular(OpenOptions::new().create(true).truncate(false).read(true).write(true), path)
}

fn regular(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(options, libc::O_NONBLOCK | libc::O_NOCTTY);
    let file = options.open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(not_regular()) }
}

fn not_regular() -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, "it is not a regular file")
}

/// Fails if there is something other than a regular file, such as a pipe.
pub(crate) fn check_regular(path: &Path) -> io::Result<()> {
    match std::fs::metadata(path) {
        Ok(there) if !there.is_file() => Err(not_regular()),
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Reads a regular file of at most `limit_bytes` bytes.
pub(crate) fn read(path: &Path, limit_bytes: u64) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    let length = file.metadata()?.len();
    check_length(length, limit_bytes)?;
    check_memory(length)?;
    let mut contents = Vec::new();
    contents.try_reserve_exact(length as usize)?;
    up_to(file, limit_bytes, contents)
}

/// Reads a regular file of at most `limit_bytes` bytes as text.
pub(crate) fn read_text(path: &Path, limit_bytes: u64) -> io::Result<String> {
    text(read(path, limit_bytes)?)
}

/// Reads a text that a flag names. It may also be a pipe, such as the process substitution of a shell.
pub(crate) fn read_argument(path: &Path, limit_bytes: u64) -> io::Result<String> {
    text(up_to(File::open(path)?, limit_bytes, Vec::new())?)
}

/// Reads the last `length` bytes of a regular file.
pub(crate) fn read_end(path: &Path, length: u64) -> io::Result<Vec<u8>> {
    let mut file = open(path)?;
    let start = file.metadata()?.len().saturating_sub(length);
    file.seek(SeekFrom::Start(start))?;
    let mut contents = Vec::new();
    file.take(length).read_to_end(&mut contents)?;
    Ok(contents)
}

/// Copies a regular file to a new one and syncs the copy to the disk.
pub(crate) fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let from = open(from)?;
    let length = from.metadata()?.len();
    let mut to = File::create_new(to)?;
    io::copy(&mut from.take(length), &mut to)?;
    to.sync_all()
}

/// Reads the rest of a file of at most `limit_bytes` bytes, whose length may be unknown or change meanwhile.
fn up_to(file: File, limit_bytes: u64, mut contents: Vec<u8>) -> io::Result<Vec<u8>> {
    file.take(limit_bytes.saturating_add(1)).read_to_end(&mut contents)?;
    check_length(contents.len() as u64, limit_bytes)?;
    Ok(contents)
}

fn check_length(length: u64, limit_bytes: u64) -> io::Result<()> {
    if length <= limit_bytes {
        return Ok(());
    }
    let limit = quantity::bytes(limit_bytes);
    Err(io::Error::new(ErrorKind::InvalidData, format!("it is longer than {limit}, the limit of such files")))
}

/// Fails if a large file does not fit into the available memory.
fn check_memory(length: u64) -> io::Result<()> {
    let available = if length > LARGE { memory::available().unwrap_or(u64::MAX) } else { u64::MAX };
    if length <= available {
        return Ok(());
    }
    let [length, available] = [length, available].map(quantity::bytes);
    let message = format!("it needs {length} of memory, but only {available} are available");
    Err(io::Error::new(ErrorKind::OutOfMemory, message))
}

fn text(contents: Vec<u8>) -> io::Result<String> {
    String::from_utf8(contents).map_err(|_| io::Error::new(ErrorKind::InvalidData, "it is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;

    fn message<T: std::fmt::Debug>(outcome: io::Result<T>) -> String {
        outcome.unwrap_err().to_string()
    }

    #[test]
    fn files_are_read_up_to_their_limit() {
        let temp = TempDir::new().unwrap();
        let path = temp.path().join("file");
        fs::write(&path, "12345").unwrap();
        assert_eq!(read(&path, 5).unwrap(), b"12345");
        assert_eq!(read_argument(&path, 5).unwrap(), "12345");
        assert_eq!(read_end(&path, 2).unwrap(), b"45");
        assert_eq!(read_end(&path, 9).unwrap(), b"12345");
        for error in [message(read(&path, 4)), message(read_argument(&path, 4))] {
            assert_eq!(error, "it is longer than 0 kB, the limit of such files");
        }
        assert_eq!(read(&temp.path().join("missing"), 4).unwrap_err().kind(), ErrorKind::NotFound);
        fs::write(&path, b"\xFF").unwrap();
        assert_eq!(message(read_text(&path, 9)), "it is not UTF-8");
    }

    /// The file occupies no space, but would fill the memory.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_that_exceeds_the_memory_is_not_read() {
        let temp = TempDir::new().unwrap();
        let path = temp.path().join("sparse");
        File::create(&path).unwrap().set_len(limit::STATE).unwrap();
        let error = message(read(&path, limit::STATE));
        assert!(error.starts_with("it needs 1099.5 GB of memory, but only "), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn pipes_and_devices_are_refused_at_once() {
        let temp = TempDir::new().unwrap();
        let pipe = temp.path().join("pipe");
        mkfifo(&pipe);
        for path in [&pipe, Path::new("/dev/zero"), temp.path()] {
            let refused = [
                message(read(path, 9)),
                message(read_end(path, 9)),
                message(copy(path, &temp.path().join("copy"))),
                message(check_regular(path)),
            ];
            assert_eq!(refused, ["it is not a regular file"; 4], "{}", path.display());
        }
        assert_eq!(message(open_or_create(&pipe)), "it is not a regular file");
        assert!(!temp.path().join("copy").exists());
        assert_eq!(
            message(read_argument(Path::new("/dev/zero"), 9)),
            "it is longer than 0 kB, the limit of such files"
        );
    }

    #[cfg(unix)]
    fn mkfifo(path: &Path) {
        let made = std::process::Command::new("mkfifo").arg(path).status().unwrap();
        assert!(made.success());
    }
}
