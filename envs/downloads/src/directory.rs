use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

use crate::platform::user_data;

/// Returns the directory of a kind of data: the value of an environment variable, else `ale-train/KIND` in the user's
/// data directory. Accesses no file. Returns `None` if nothing names a directory.
///
/// The data directory is `XDG_DATA_HOME`, else `~/.local/share`, following the XDG base directory specification; on
/// Windows, it is `XDG_DATA_HOME`, else `LOCALAPPDATA`.
pub fn data_directory(kind: &str, variable: &str) -> Option<PathBuf> {
    from(kind, variable, |name| env::var_os(name).filter(|value| !value.is_empty()))
}

fn from(kind: &str, variable: &str, value: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    if let Some(directory) = value(variable) {
        return Some(directory.into());
    }
    user_data(value).map(|directory| directory.join("ale-train").join(kind))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn with(variables: &[(&str, &str)]) -> Option<String> {
        let variables: BTreeMap<&str, &str> = variables.iter().copied().collect();
        let value = |name: &str| variables.get(name).map(OsString::from);
        let directory = from("roms", "ALE_TRAIN_ROMS", value)?;
        Some(directory.to_str().unwrap().replace('\\', "/"))
    }

    #[cfg(unix)]
    #[test]
    fn prefers_the_variable_then_xdg_then_home() {
        let all = [("ALE_TRAIN_ROMS", "/a"), ("XDG_DATA_HOME", "/x"), ("HOME", "/h")];
        assert_eq!(with(&all).unwrap(), "/a");
        assert_eq!(with(&all[1..]).unwrap(), "/x/ale-train/roms");
        assert_eq!(with(&all[2..]).unwrap(), "/h/.local/share/ale-train/roms");
        assert_eq!(with(&[]), None);
    }

    #[cfg(unix)]
    #[test]
    fn ignores_a_relative_xdg_directory() {
        let variables = [("XDG_DATA_HOME", "data"), ("HOME", "/h")];
        assert_eq!(with(&variables).unwrap(), "/h/.local/share/ale-train/roms");
    }

    #[cfg(windows)]
    #[test]
    fn prefers_the_variable_then_xdg_then_local_application_data() {
        let all = [
            ("ALE_TRAIN_ROMS", r"D:\roms"),
            ("XDG_DATA_HOME", r"E:\x"),
            ("LOCALAPPDATA", r"C:\data"),
            ("HOME", r"C:\home"),
        ];
        assert_eq!(with(&all).unwrap(), "D:/roms");
        assert_eq!(with(&all[1..]).unwrap(), "E:/x/ale-train/roms");
        assert_eq!(with(&all[2..]).unwrap(), "C:/data/ale-train/roms");
        assert_eq!(with(&all[3..]), None);
    }
}
