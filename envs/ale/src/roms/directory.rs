use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::error::RomError;

/// The environment variable that names the ROM directory.
pub(super) const DIRECTORY_VARIABLE: &str = "ALE_TRAIN_ROMS";

/// Returns the ROM directory: the chosen one, else `ALE_TRAIN_ROMS`, else `ale-train/roms` in the user's data directory.
///
/// The data directory is `XDG_DATA_HOME`, else `~/.local/share`, following the XDG base directory specification, or
/// `LOCALAPPDATA` on Windows.
pub(super) fn locate(chosen: Option<&Path>) -> Result<PathBuf, RomError> {
    from(chosen, |name| env::var_os(name).filter(|value| !value.is_empty()))
}

fn from(chosen: Option<&Path>, variable: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf, RomError> {
    if let Some(directory) = chosen {
        return Ok(directory.to_owned());
    }
    if let Some(directory) = variable(DIRECTORY_VARIABLE) {
        return Ok(directory.into());
    }
    // The specification: "relative paths are invalid and must be ignored".
    let data = variable("XDG_DATA_HOME")
        .map(PathBuf::from)
        .filter(|directory| directory.is_absolute())
        .or_else(|| variable("HOME").map(|home| Path::new(&home).join(".local/share")))
        .or_else(|| variable("LOCALAPPDATA").map(PathBuf::from));
    data.map(|directory| directory.join("ale-train").join("roms")).ok_or(RomError::NoDirectory)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(chosen: Option<&str>, variables: &[(&str, &str)]) -> Option<String> {
        let lookup = |name: &str| {
            let found = variables.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| OsString::from(value))
        };
        let directory = from(chosen.map(Path::new), lookup).ok()?;
        Some(directory.to_str().unwrap().replace('\\', "/"))
    }

    #[test]
    fn prefers_the_flag_then_the_variable_then_xdg_then_home() {
        let all = [("ALE_TRAIN_ROMS", "/a"), ("XDG_DATA_HOME", "/x"), ("HOME", "/h")];
        assert_eq!(with(Some("/flag"), &all).unwrap(), "/flag");
        assert_eq!(with(None, &all).unwrap(), "/a");
        assert_eq!(with(None, &all[1..]).unwrap(), "/x/ale-train/roms");
        assert_eq!(with(None, &all[2..]).unwrap(), "/h/.local/share/ale-train/roms");
        assert_eq!(with(None, &[]), None);
    }

    #[test]
    fn ignores_a_relative_xdg_directory() {
        let variables = [("XDG_DATA_HOME", "data"), ("HOME", "/h")];
        assert_eq!(with(None, &variables).unwrap(), "/h/.local/share/ale-train/roms");
    }
}
