use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::error::MujocoError;
use crate::files::{KnownFile, MODELS};
use crate::installation::{Installation, library_file};
use crate::pip::Pip;

/// The environment variable that names the directory.
const DIRECTORY_VARIABLE: &str = "ALE_TRAIN_MUJOCO";

impl Installation {
    /// Returns the user's installation: in `chosen`, else in `ALE_TRAIN_MUJOCO`, else in the user's data directory
    /// (`$XDG_DATA_HOME/ale-train/mujoco` or `~/.local/share/ale-train/mujoco`). Accesses no file.
    pub fn locate(chosen: Option<&Path>) -> Result<Self, MujocoError> {
        directory(chosen, |name| env::var_os(name).filter(|value| !value.is_empty())).map(Self::new)
    }

    /// Downloads missing and damaged files with the user's pip. Nothing happens if there are none. Waits while another
    /// process downloads into the same directory.
    pub fn fetch(&self, pip: &Pip) -> Result<(), MujocoError> {
        let files: Vec<&KnownFile> = std::iter::once(library_file()?).chain(&MODELS).collect();
        let absent = || files.iter().copied().filter(|file| self.checked(file).is_err());
        if absent().next().is_none() {
            return Ok(());
        }
        let unwritable = |reason| MujocoError::Unwritable { path: self.directory().to_owned(), reason };
        fs::create_dir_all(self.directory()).map_err(unwritable)?;
        // Dropping the file releases the lock.
        let lock = File::create(self.directory().join(".lock")).map_err(unwritable)?;
        lock.lock().map_err(unwritable)?;
        let missing: Vec<&KnownFile> = absent().collect();
        if missing.is_empty() {
            return Ok(());
        }
        let download = tempfile::tempdir_in(self.directory()).map_err(unwritable)?;
        pip.install(download.path())?;
        let downloaded = Self::new(download.path());
        for file in missing {
            let from = downloaded.checked(file)?;
            self.adopt(&from, file).map_err(unwritable)?;
        }
        Ok(())
    }

    /// Moves a complete file to its place, so that there is never half of one.
    fn adopt(&self, from: &Path, file: &KnownFile) -> io::Result<()> {
        let to = self.directory().join(file.path);
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::rename(from, to)
    }
}

fn directory(
    chosen: Option<&Path>,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<PathBuf, MujocoError> {
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
    data.map(|directory| directory.join("ale-train").join("mujoco")).ok_or(MujocoError::NoDirectory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefers_the_choice_then_the_variable_then_xdg_then_home() {
        let all = [("ALE_TRAIN_MUJOCO", "/a"), ("XDG_DATA_HOME", "/x"), ("HOME", "/h")];
        let with = |chosen: Option<&str>, variables: &[(&str, &str)]| {
            let lookup = |name: &str| {
                variables.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value))
            };
            directory(chosen.map(Path::new), lookup).ok()
        };
        assert_eq!(with(Some("/flag"), &all).unwrap(), Path::new("/flag"));
        assert_eq!(with(None, &all).unwrap(), Path::new("/a"));
        assert_eq!(with(None, &all[1..]).unwrap(), Path::new("/x/ale-train/mujoco"));
        assert_eq!(with(None, &all[2..]).unwrap(), Path::new("/h/.local/share/ale-train/mujoco"));
        let relative = [("XDG_DATA_HOME", "data"), ("HOME", "/h")];
        assert_eq!(with(None, &relative).unwrap(), Path::new("/h/.local/share/ale-train/mujoco"));
        assert_eq!(with(None, &[]), None);
    }
}
