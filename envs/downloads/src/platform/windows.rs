use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitStatus;

/// `XDG_DATA_HOME`, else `LOCALAPPDATA`. Not a directory in `HOME`, which is set in shells from Unix only: other shells
/// would not find what was stored there.
pub(crate) fn user_data(value: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let chosen = value("XDG_DATA_HOME").map(PathBuf::from).filter(|directory| directory.is_absolute());
    chosen.or_else(|| value("LOCALAPPDATA").map(PathBuf::from))
}

/// Installers of Python and virtual environments have `python` only. `py` is the launcher, which is found even if
/// Python is not on the path.
pub(crate) const INTERPRETERS: [&str; 3] = ["python", "python3", "py"];

/// The status of the shell for a missing command. Windows comes with programs named `python` and `python3` that exit
/// with it and refer to the store.
const MISSING: i32 = 9009;

/// `STATUS_CONTROL_C_EXIT`: Ctrl-C, Ctrl-Break or the closing of the console.
const CONTROL_C: u32 = 0xC000_013A;

pub(crate) fn is_placeholder(status: ExitStatus) -> bool {
    status.code() == Some(MISSING)
}

pub(crate) fn is_stopped(status: ExitStatus) -> bool {
    status.code() == Some(CONTROL_C.cast_signed())
}
