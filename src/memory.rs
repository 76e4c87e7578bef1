//! The memory of this process and of the machine, as reported by Linux.

// These files come from the kernel.
#![allow(clippy::disallowed_methods)]

use std::fs;
use std::path::Path;

use crate::cluster;

/// Returns the number of bytes that this process may still allocate. This is its share of the memory that is available
/// to the processes of a job on this machine. The limits of the control group and of the process (`ulimit -v`) apply.
/// None on systems other than Linux.
pub(crate) fn available() -> Option<u64> {
    let processes = cluster::local_size() as u64;
    available_to_all().map(|bytes| bytes / processes).into_iter().chain(below_process_limit()).min()
}

fn available_to_all() -> Option<u64> {
    let in_machine =
        fs::read_to_string("/proc/meminfo").ok().and_then(|text| kilobytes(&text, "MemAvailable"));
    in_machine.into_iter().chain(left_in_control_groups(Path::new("/sys/fs/cgroup"), &control_group())).min()
}

/// Returns the path of this process's control group (version 2), such as `/user.slice`.
fn control_group() -> String {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    groups.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or("/").to_owned()
}

/// Returns the number of bytes left within the limits of a control group and its parent groups, or None if there is no
/// limit. `root` is the directory of all groups.
fn left_in_control_groups(root: &Path, group: &str) -> Option<u64> {
    let group = root.join(group.trim_start_matches('/'));
    group.ancestors().take_while(|group| group.starts_with(root)).filter_map(left_in_control_group).min()
}

/// Returns the number of bytes left within the limit of a control group. Cached files do not count, because the kernel
/// frees them when memory is needed.
fn left_in_control_group(group: &Path) -> Option<u64> {
    let read = |file: &str| fs::read_to_string(group.join(file)).ok();
    let limit: u64 = read("memory.max")?.trim().parse().ok()?;
    let used: u64 = read("memory.current")?.trim().parse().ok()?;
    let statistics = read("memory.stat").unwrap_or_default();
    let cached: u64 = statistics
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter(|(name, _)| ["active_file", "inactive_file"].contains(name))
        .filter_map(|(_, bytes)| bytes.parse::<u64>().ok())
        .sum();
    Some(limit.saturating_sub(used.saturating_sub(cached)))
}

/// Returns the remaining size of the address space that this process may use, or None if it is unlimited.
fn below_process_limit() -> Option<u64> {
    let limits = fs::read_to_string("/proc/self/limits").ok()?;
    let used = kilobytes(&fs::read_to_string("/proc/self/status").ok()?, "VmSize")?;
    Some(limit(&limits, "Max address space")?.saturating_sub(used))
}

/// The resident memory of this process in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Resident {
    pub(crate) now: u64,
    pub(crate) peak: u64,
}

impl Resident {
    /// Returns the current values. None on systems other than Linux.
    pub(crate) fn read() -> Option<Self> {
        let status = fs::read_to_string("/proc/self/status").ok()?;
        Some(Self { now: kilobytes(&status, "VmRSS")?, peak: kilobytes(&status, "VmHWM")? })
    }
}

/// Parses a line such as `MemAvailable:   123 kB` and returns bytes.
fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// Parses the soft limit of a line such as `Max address space   1048576   unlimited   bytes`. None if it is unlimited.
fn limit(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_limits() {
        let text = "Max file size             unlimited            unlimited            bytes\n\
                    Max address space         1048576              unlimited            bytes\n";
        assert_eq!(limit(text, "Max address space"), Some(1 << 20));
        assert_eq!(limit(text, "Max file size"), None);
    }

    fn write_control_group(directory: &Path, limit: &str, used: &str, statistics: &str) {
        fs::create_dir_all(directory).unwrap();
        fs::write(directory.join("memory.max"), limit).unwrap();
        fs::write(directory.join("memory.current"), used).unwrap();
        fs::write(directory.join("memory.stat"), statistics).unwrap();
    }

    #[test]
    fn control_groups_leave_their_smallest_limit_without_cached_files() {
        let root = tempfile::TempDir::new().unwrap();
        let (jobs, job) = (root.path().join("jobs"), root.path().join("jobs/7"));
        assert_eq!(left_in_control_groups(root.path(), "/jobs/7"), None);
        write_control_group(&job, "max\n", "50\n", "");
        assert_eq!(left_in_control_groups(root.path(), "/jobs/7"), None);
        write_control_group(
            &jobs,
            "1000\n",
            "900\n",
            "anon 300\nfile 600\ninactive_file 400\nactive_file 200\n",
        );
        assert_eq!(left_in_control_groups(root.path(), "/jobs/7"), Some(700));
        assert_eq!(left_in_control_groups(root.path(), "/other"), None);
        write_control_group(&job, "500\n", "450\n", "inactive_file 100\n");
        assert_eq!(left_in_control_groups(root.path(), "/jobs/7"), Some(150));
        write_control_group(root.path(), "100\n", "90\n", "");
        assert_eq!(left_in_control_groups(root.path(), "/jobs/7"), Some(10));
    }

    #[test]
    fn reads_kilobytes() {
        let text = "MemTotal:       24539012 kB\nMemFree: 1 kB\nMemAvailable:   22000000 kB\nBuffers: 5 kB\n";
        assert_eq!(kilobytes(text, "MemAvailable"), Some(22_000_000 * 1024));
        assert_eq!(kilobytes("MemTotal: 7 kB\n", "MemAvailable"), None);
    }
}
