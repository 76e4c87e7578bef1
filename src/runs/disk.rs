use std::fs;
use std::path::Path;
use std::time::SystemTime;

/// The files of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DiskUse {
    /// The length of all files together.
    pub(super) bytes: u64,
    /// The time of the last change of a file.
    pub(super) changed: SystemTime,
}

impl DiskUse {
    /// Measures a directory. Files that disappear meanwhile, such as those of an old checkpoint, do not count.
    pub(super) fn measure(directory: &Path) -> Self {
        let mut disk = Self { bytes: 0, changed: SystemTime::UNIX_EPOCH };
        let mut pending = vec![directory.to_owned()];
        while let Some(directory) = pending.pop() {
            for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
                let Ok(metadata) = entry.metadata() else { continue };
                if metadata.is_dir() {
                    pending.push(entry.path());
                } else if metadata.is_file() {
                    disk.bytes += metadata.len();
                    disk.changed = disk.changed.max(metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH));
                }
            }
        }
        disk
    }
}
