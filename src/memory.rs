//! The memory of this process and of the machine, as far as Linux reports it.

use std::fs;

use crate::cluster;

/// Returns the number of bytes that this process may still allocate: its share of the memory that is available to the processes
/// of a job on this machine, within the limit of the control group, and at most what its own limit (`ulimit -v`) leaves. None on
/// systems other than Linux.
pub(crate) fn available() -> Option<u64> {
    let processes = cluster::local_size() as u64;
    available_to_all().map(|bytes| bytes / processes).into_iter().chain(below_own_limit()).min()
}

fn available_to_all() -> Option<u64> {
    let of_machine =
        fs::read_to_string("/proc/meminfo").ok().and_then(|text| kilobytes(&text, "MemAvailable"));
    let of_group = || -> Option<u64> {
        let read = |file: &str| fs::read_to_string(format!("/sys/fs/cgroup/memory.{file}")).ok();
        let limit: u64 = read("max")?.trim().parse().ok()?;
        Some(limit.saturating_sub(read("current")?.trim().parse().ok()?))
    };
    of_machine.into_iter().chain(of_group()).min()
}

/// Returns what is left of the address space that this process may use, or None if it is unlimited.
fn below_own_limit() -> Option<u64> {
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
    /// Returns the present values. None on systems other than Linux.
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

    #[test]
    fn reads_kilobytes() {
        let text = "MemTotal:       24539012 kB\nMemFree: 1 kB\nMemAvailable:   22000000 kB\nBuffers: 5 kB\n";
        assert_eq!(kilobytes(text, "MemAvailable"), Some(22_000_000 * 1024));
        assert_eq!(kilobytes("MemTotal: 7 kB\n", "MemAvailable"), None);
    }
}
