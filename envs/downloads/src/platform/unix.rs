use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

/// `XDG_DATA_HOME`, else `~/.local/share`, following the XDG base directory specification.
pub(crate) fn user_data(value: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    // The specification: "relative paths are invalid and must be ignored".
    let chosen = value("XDG_DATA_HOME").map(PathBuf::from).filter(|directory| directory.is_absolute());
    chosen.or_else(|| value("HOME").map(|home| Path::new(&home).join(".local/share")))
}

pub(crate) const INTERPRETERS: [&str; 2] = ["python3", "python"];

pub(crate) fn is_placeholder(_: ExitStatus) -> bool {
    false
}

/// SIGHUP, SIGINT or SIGTERM.
pub(crate) fn is_stopped(status: ExitStatus) -> bool {
    matches!(status.signal(), Some(1 | 2 | 15))
}
