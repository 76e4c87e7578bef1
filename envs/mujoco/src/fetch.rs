use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::Path;

use downloads::{Pip, PipError, data_directory};

use crate::error::MujocoError;
use crate::files::{KnownFile, MODELS};
use crate::installation::Installation;
use crate::versions::PACKAGES;

/// Options to install the wheels of a different version of Python, if there are none for the user's. Their library and
/// models are the same.
const ANY_PYTHON: [&str; 5] = [
    PLATFORM,
    "--python-version=3.11",
    "--implementation=cp",
    "--abi=cp311",
    // `pip install` compares the packages' versions of Python with its own in spite of `--python-version`.
    "--ignore-requires-python",
];

/// The platform of MuJoCo's wheel. Installing anything on other platforms fails before pip is run.
const PLATFORM: &str = if cfg!(target_arch = "aarch64") {
    "--platform=manylinux_2_28_aarch64"
} else {
    "--platform=manylinux_2_28_x86_64"
};

/// The environment variable that names the directory.
const DIRECTORY_VARIABLE: &str = "ALE_TRAIN_MUJOCO";

/// The ends of the names under which package managers record what they have installed.
const PACKAGE_RECORDS: [&str; 3] = [".dist-info", ".egg-info", ".egg-link"];

/// The beginning of the names of directories for downloads.
const DOWNLOAD: &str = ".ale-train-download-";

impl Installation {
    /// Returns the user's installation: in `chosen`, else in `ALE_TRAIN_MUJOCO`, else in the user's data directory
    /// (`$XDG_DATA_HOME/ale-train/mujoco` or `~/.local/share/ale-train/mujoco`). Accesses no file.
    pub fn locate(chosen: Option<&Path>) -> Result<Self, MujocoError> {
        let directory = || data_directory("mujoco", DIRECTORY_VARIABLE).ok_or(MujocoError::NoDirectory);
        chosen.map_or_else(directory, |chosen| Ok(chosen.to_owned())).map(Self::new)
    }

    /// Downloads missing files with the user's pip. Does nothing if there are none. Waits while another process
    /// downloads into the same directory. If there is no library, that of MuJoCo 3.17.0 is downloaded.
    ///
    /// Never replaces a file, since a model may have been edited: a file with other contents is an error when a task
    /// needs it. Never writes into a directory in which a package manager has installed Python packages.
    pub fn fetch(&self, pip: &Pip) -> Result<(), MujocoError> {
        let Some(first) = self.missing()?.first().copied() else {
            return Ok(());
        };
        if self.holds_python_packages() {
            return Err(MujocoError::MissingPackage { path: self.directory().join(first.path) });
        }
        let unwritable = |reason| MujocoError::Unwritable { path: self.directory().to_owned(), reason };
        fs::create_dir_all(self.directory()).map_err(unwritable)?;
        // Dropping the file releases the lock.
        let lock = downloads::open_lock_file(self.directory()).map_err(unwritable)?;
        match lock.lock() {
            Ok(()) => self.delete_incomplete_downloads().map_err(unwritable)?,
            // Ctrl-C in Python.
            Err(reason) if reason.kind() == io::ErrorKind::Interrupted => return Err(unwritable(reason)),
            // On a file system without locks, two processes may both download; each file is moved into place
            // atomically.
            Err(_) => {}
        }
        let missing = self.missing()?;
        if missing.is_empty() {
            return Ok(());
        }
        let download = tempfile::Builder::new().prefix(DOWNLOAD).tempdir_in(self.directory());
        let download = download.map_err(unwritable)?;
        install(pip, download.path())?;
        let downloaded = Self::new(download.path());
        for file in missing {
            let from = downloaded.checked(&file)?;
            self.adopt(&from, &file).map_err(unwritable)?;
        }
        Ok(())
    }

    /// Returns the files that do not exist.
    fn missing(&self) -> Result<Vec<KnownFile>, MujocoError> {
        let files = std::iter::once(self.library_file()?).chain(MODELS);
        let is_missing = |file: &KnownFile| matches!(self.checked(file), Err(MujocoError::Missing { .. }));
        Ok(files.filter(is_missing).collect())
    }

    /// Returns true if a package manager has recorded a package in the directory.
    fn holds_python_packages(&self) -> bool {
        fs::read_dir(self.directory()).is_ok_and(|mut entries| {
            entries.any(|entry| entry.is_ok_and(|entry| is_package_record(&entry.file_name())))
        })
    }

    /// Deletes what killed processes left behind. No other process downloads meanwhile.
    fn delete_incomplete_downloads(&self) -> io::Result<()> {
        for entry in fs::read_dir(self.directory())? {
            let entry = entry?;
            if entry.file_name().to_string_lossy().starts_with(DOWNLOAD) {
                fs::remove_dir_all(entry.path())?;
            }
        }
        Ok(())
    }

    /// Moves a complete file to its path, at which there is thus never a partial file.
    fn adopt(&self, from: &Path, file: &KnownFile) -> io::Result<()> {
        let to = self.directory().join(file.path);
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::rename(from, to)
    }
}

/// Returns true for the name of a directory in which a package manager records a package.
fn is_package_record(name: &OsStr) -> bool {
    PACKAGE_RECORDS.iter().any(|end| name.to_string_lossy().ends_with(end))
}

/// Installs the packages into a directory.
fn install(pip: &Pip, directory: &Path) -> Result<(), PipError> {
    pip.announce(&format!("downloading {} with pip", PACKAGES.join(" and ")));
    // `--no-user` because a configuration of pip may have `user = true`, which excludes `--target`.
    let options = ["--only-binary=:all:", "--no-user", "--target"].map(OsStr::new);
    let arguments = options.into_iter().chain([directory.as_os_str()]).chain(PACKAGES.map(OsStr::new));
    pip.run_or_retry_with(&ANY_PYTHON, "install", arguments)
}
