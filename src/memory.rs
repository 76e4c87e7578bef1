//! The memory of this process and of the machine, as far as Linux reports it.

use std::fs;

/// Returns the number of bytes that a process may still allocate: the memory that is available, within the limit of the
/// control group. None on systems other than Linux.
pub(crate) fn available() -> Option<u64> {
    let of_machine =
        fs::read_to_string("/proc/meminfo").ok().and_then(|text| kilobytes(&text, "MemAvailable"));
    let of_group = || -> Option<u64> {
        let read = |file: &str| fs::read_to_string(format!("/sys/fs/cgroup/memory.{file}")).ok();
        let limit: u64 = read("max")?.trim().parse().ok()?;
        Some(limit.saturating_sub(read("current")?.trim().parse().ok()?))
    };
    of_machine.into_iter().chain(of_group()).min()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_kilobytes() {
        let text = "MemTotal:       24539012 kB\nMemFree: 1 kB\nMemAvailable:   22000000 kB\nBuffers: 5 kB\n";
        assert_eq!(kilobytes(text, "MemAvailable"), Some(22_000_000 * 1024));
        assert_eq!(kilobytes("MemTotal: 7 kB\n", "MemAvailable"), None);
    }
}
