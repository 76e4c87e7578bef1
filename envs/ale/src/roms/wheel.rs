use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use downloads::{Pip, PipError};
use tempfile::TempDir;

use super::WHEEL;
use super::error::RomError;

/// Options to download the wheel of a different platform, if there is none for the user's. Its ROMs are the same.
const ANY_PLATFORM: [&str; 5] = [
    "--only-binary=:all:",
    "--platform=manylinux_2_28_x86_64",
    "--python-version=3.11",
    "--implementation=cp",
    "--abi=cp311",
];

/// A downloaded wheel in a temporary directory, which is deleted when this value is dropped.
pub(super) struct Wheel {
    path: PathBuf,
    _directory: TempDir,
}

impl Wheel {
    /// Downloads the wheel into a temporary directory.
    pub(super) fn download(pip: &Pip) -> Result<Self, RomError> {
        let directory = tempfile::tempdir()
            .map_err(|reason| RomError::NoTemporaryDirectory { path: std::env::temp_dir(), reason })?;
        pip.announce(&format!("downloading {WHEEL} with pip for its ROMs"));
        let destination = [OsStr::new("--dest"), directory.path().as_os_str(), OsStr::new(WHEEL)];
        pip.run_or_retry_with(&ANY_PLATFORM, "download", destination)?;
        let missing = || PipError::Failed { detail: "pip reported success but left no wheel".to_owned() };
        Self::find(directory).ok_or_else(|| missing().into())
    }

    /// Finds the wheel in a directory.
    fn find(directory: TempDir) -> Option<Self> {
        let mut files = directory.path().read_dir().ok()?.filter_map(Result::ok).map(|entry| entry.path());
        let path = files.find(|path| path.extension().is_some_and(|extension| extension == "whl"))?;
        Some(Self { path, _directory: directory })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}
