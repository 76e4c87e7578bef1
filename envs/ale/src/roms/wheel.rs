use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// The package that ships the ROMs, at the version of the manifest.
pub const WHEEL: &str = "ale-py==0.12.1";

/// A downloaded wheel in a temporary directory, which is deleted when this value is dropped.
pub(super) struct Wheel {
    path: PathBuf,
    _directory: TempDir,
}

impl Wheel {
    /// Finds the wheel in a directory.
    pub(super) fn find(directory: TempDir) -> Option<Self> {
        let mut files = directory.path().read_dir().ok()?.filter_map(Result::ok).map(|entry| entry.path());
        let path = files.find(|path| path.extension().is_some_and(|extension| extension == "whl"))?;
        Some(Self { path, _directory: directory })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}
