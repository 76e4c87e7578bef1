//! The Python interpreter of the user.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Where a virtual environment has its interpreter, and the name of the interpreter on the path.
const NAMES: (&str, &str) =
    if cfg!(windows) { ("Scripts/python.exe", "python") } else { ("bin/python", "python3") };

/// Returns the Python interpreter to run: the given one, or that of the active virtual environment (`$VIRTUAL_ENV`), or
/// `python3` on the path (`python` on Windows).
///
/// ```
/// use std::path::Path;
///
/// let given = Path::new("/usr/bin/python3.12");
/// assert_eq!(gymnasium_workers::interpreter(Some(given)), given);
/// ```
pub fn interpreter(given: Option<&Path>) -> PathBuf {
    choose(given, env::var_os("VIRTUAL_ENV").as_deref())
}

fn choose(given: Option<&Path>, virtual_env: Option<&OsStr>) -> PathBuf {
    if let Some(given) = given {
        return given.to_owned();
    }
    let (in_virtual_env, on_path) = NAMES;
    match virtual_env {
        Some(directory) if !directory.is_empty() => Path::new(directory).join(in_virtual_env),
        _ => PathBuf::from(on_path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_given_interpreter_comes_before_that_of_the_virtual_environment() {
        let venv = Some(OsStr::new("/venv"));
        assert_eq!(choose(Some(Path::new("/usr/bin/python3.12")), venv), Path::new("/usr/bin/python3.12"));
        assert_eq!(choose(None, venv), Path::new("/venv").join(NAMES.0));
        assert_eq!(choose(None, Some(OsStr::new(""))), Path::new(NAMES.1));
        assert_eq!(choose(None, None), Path::new(NAMES.1));
    }
}
