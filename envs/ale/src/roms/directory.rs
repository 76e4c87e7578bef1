use std::path::{Path, PathBuf};

use downloads::data_directory;

use super::error::RomError;

/// The environment variable that names the ROM directory.
pub(super) const DIRECTORY_VARIABLE: &str = "ALE_TRAIN_ROMS";

/// Returns the ROM directory: the chosen one, else `ALE_TRAIN_ROMS`, else `ale-train/roms` in the user's
/// [data directory](data_directory).
pub(super) fn locate(chosen: Option<&Path>) -> Result<PathBuf, RomError> {
    let directory = || data_directory("roms", DIRECTORY_VARIABLE).ok_or(RomError::NoDirectory);
    chosen.map_or_else(directory, |chosen| Ok(chosen.to_owned()))
}
