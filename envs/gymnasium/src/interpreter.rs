//! The Python interpreter of the workers.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Returns the interpreter: the given one, or that of the active virtual environment, or `python3` on the path.
pub(crate) fn interpreter(given: Option<&Path>) -> PathBuf {
    choose(given, env::var_os("VIRTUAL_ENV").as_deref())
}

fn choose(given: Option<&Path>, virtual_env: Option<&OsStr>) -> PathBuf {
    if let Some(given) = given {
        return given.to_owned();
    }
    match virtual_env {
        Some(directory) if !directory.is_empty() => Path::new(directory).join("bin/python"),
        _ => PathBuf::from("python3"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_given_interpreter_comes_before_that_of_the_virtual_environment() {
        let venv = Some(OsStr::new("/venv"));
        assert_eq!(choose(Some(Path::new("/usr/bin/python3.12")), venv), Path::new("/usr/bin/python3.12"));
        assert_eq!(choose(None, venv), Path::new("/venv/bin/python"));
        assert_eq!(choose(None, Some(OsStr::new(""))), Path::new("python3"));
        assert_eq!(choose(None, None), Path::new("python3"));
    }
}
