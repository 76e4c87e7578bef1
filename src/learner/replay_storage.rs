//! Where a replay is kept: in memory, as much as is free, or in a file without a name.

use std::fs;
use std::io::Write;
use std::ops::DerefMut;
use std::path::Path;

use algorithms::dqn::Dqn;
use algorithms::{ReplayStorage, VectorSpec};
use anyhow::{Context, Result};
use memmap2::MmapMut;

use crate::config::Experiment;

/// Memory that is left to everything else.
const RESERVE: u64 = 256 << 20;

/// The storage for the replay of an experiment in the environments of `spec`.
pub(super) fn of(experiment: &Experiment, spec: &VectorSpec) -> Result<ReplayStorage> {
    let Some(folder) = &experiment.replay.folder else {
        return Ok(ReplayStorage::Memory { available: available_memory() });
    };
    let bytes = Dqn::replay_size(&experiment.dqn, spec)?.storage_bytes;
    let file = map_file(folder, bytes)
        .with_context(|| format!("replay.folder = {}: no file of {bytes} bytes", folder.display()))?;
    Ok(ReplayStorage::External(file))
}

/// A file of so many bytes that is gone when the process ends. All of it is written once, so that a disk without room
/// says so now.
fn map_file(folder: &Path, bytes: u64) -> Result<Box<dyn DerefMut<Target = [u8]> + Send>> {
    let mut file = tempfile::tempfile_in(folder)?;
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
    // SAFETY: the file has no name, so that no other process can change or shorten it while it is mapped.
    let map = unsafe { MmapMut::map_mut(&file)? };
    Ok(Box::new(map))
}

/// Bytes of memory that a replay may take: what Linux counts as available, less a reserve, and not more than what is
/// left to the control group. Elsewhere nothing is known, and nothing is refused.
fn available_memory() -> u64 {
    let of_machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| mem_available(&text));
    let of_group = || -> Option<u64> {
        let read = |file: &str| fs::read_to_string(format!("/sys/fs/cgroup/memory.{file}")).ok();
        let limit: u64 = read("max")?.trim().parse().ok()?;
        Some(limit.saturating_sub(read("current")?.trim().parse().ok()?))
    };
    let free = of_machine.into_iter().chain(of_group()).min();
    free.map_or(u64::MAX, |free| free.saturating_sub(RESERVE))
}

/// The line `MemAvailable:   123 kB` in bytes.
fn mem_available(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn available_memory_is_read_in_kilobytes() {
        let text = "MemTotal:       24539012 kB\nMemFree: 1 kB\nMemAvailable:   22000000 kB\nBuffers: 5 kB\n";
        assert_eq!(mem_available(text), Some(22_000_000 * 1024));
        assert_eq!(mem_available("MemTotal: 7 kB\n"), None);
    }

    #[test]
    fn a_file_is_mapped_whole_and_leaves_nothing_behind() {
        let folder = tempfile::TempDir::new().unwrap();
        let mut map = map_file(folder.path(), (1 << 20) + 5).unwrap();
        assert_eq!(map.len(), (1 << 20) + 5);
        map[1 << 20] = 7;
        assert_eq!(map[(1 << 20) - 1..=1 << 20], [0, 7]);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        assert!(map_file(&folder.path().join("nowhere"), 5).is_err());
    }
}
