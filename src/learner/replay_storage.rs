//! The memory of a replay: available RAM, or an unnamed memory-mapped file.

use std::io::Write;
use std::ops::DerefMut;
use std::path::{Path, PathBuf};

use algorithms::{ReplaySize, ReplayStorage};
use anyhow::{Context, Result};
use memmap2::MmapMut;
use serde::{Deserialize, Serialize};
use settings::settings;

use crate::memory;

settings! {
    /// Storage of the replay of DQN and SAC.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub(super) struct ReplaySettings {
        /// Directory of a temporary file for the observations of the replay. If absent, they are in memory.
        pub(super) folder: Option<PathBuf> = None,
        /// True if checkpoints contain the replay. Otherwise a resumed run fills its replay again before it learns.
        pub(super) in_checkpoint: bool = true,
    }
}

/// Memory in bytes that is reserved for everything else.
const RESERVE: u64 = 256 << 20;

/// Returns storage for a replay of the given size.
pub(super) fn of(settings: &ReplaySettings, size: ReplaySize) -> Result<ReplayStorage> {
    let Some(directory) = &settings.folder else {
        return Ok(ReplayStorage::Memory { available: available_memory() });
    };
    let bytes = size.storage_bytes;
    let file = map_file(directory, bytes).with_context(|| {
        format!("replay.folder = {}: cannot create a file of {bytes} bytes", directory.display())
    })?;
    Ok(ReplayStorage::External(file))
}

/// Maps a file of `bytes` bytes that disappears with the process. All of it is written once, so that a full disk is
/// detected at the start.
fn map_file(directory: &Path, bytes: u64) -> Result<Box<dyn DerefMut<Target = [u8]> + Send>> {
    let mut file = tempfile::tempfile_in(directory)?;
    let zeros = vec![0; 1 << 20];
    let mut left = bytes;
    while left > 0 {
        let part = left.min(zeros.len() as u64);
        file.write_all(&zeros[..part as usize])?;
        left -= part;
    }
    file.flush()?;
    if bytes == 0 {
        return Ok(Box::new(Vec::new()));
    }
    #[allow(unsafe_code)]
    // SAFETY: the file has no name, so no other process can change or truncate it while it is mapped.
    let map = unsafe { MmapMut::map_mut(&file)? };
    Ok(Box::new(map))
}

/// Returns the number of bytes that a replay may occupy: the available memory less a reserve. Unlimited if it is
/// unknown.
fn available_memory() -> u64 {
    memory::available().map_or(u64::MAX, |free| free.saturating_sub(RESERVE))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn maps_a_whole_file_that_has_no_name() {
        let directory = tempfile::TempDir::new().unwrap();
        let mut map = map_file(directory.path(), (1 << 20) + 5).unwrap();
        assert_eq!(map.len(), (1 << 20) + 5);
        map[1 << 20] = 7;
        assert_eq!(map[(1 << 20) - 1..=1 << 20], [0, 7]);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
        assert!(map_file(&directory.path().join("nowhere"), 5).is_err());
    }
}
