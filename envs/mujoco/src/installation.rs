use std::env::consts::{ARCH, OS};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use sha2::{Digest, Sha256};

use crate::error::MujocoError;
use crate::files::{KnownFile, MODELS};
use crate::library::Library;
use crate::versions::{VERSIONS, Version};

/// A directory with MuJoCo's library and Gymnasium's models, arranged as in a directory of Python packages.
///
/// [`fetch`](Self::fetch) makes one, and so does
/// `pip install --no-deps --target DIRECTORY mujoco==3.17.0 gymnasium==1.4.0`. A directory with MuJoCo 4.0.0, as
/// `pip install mujoco==4.0.0 gymnasium==1.4.0` makes it, is one too. If it has both versions, 3.17.0 is used. The
/// contents of a file are checked before it is used.
#[derive(Clone, Debug)]
pub struct Installation(Arc<Inner>);

struct Inner {
    directory: PathBuf,
    /// The library, once it is loaded.
    library: OnceLock<Arc<Library>>,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.directory.fmt(f)
    }
}

impl Installation {
    /// Returns the installation in a directory. Accesses no file.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self(Arc::new(Inner { directory: directory.into(), library: OnceLock::new() }))
    }

    /// Returns the directory, which may not exist.
    pub fn directory(&self) -> &Path {
        &self.0.directory
    }

    /// Returns the library, loaded at the first call.
    pub fn library(&self) -> Result<Arc<Library>, MujocoError> {
        if let Some(library) = self.0.library.get() {
            return Ok(library.clone());
        }
        let file = self.checked(&self.library_file()?)?;
        // SAFETY: the SHA-256 of the file is that of MuJoCo's library.
        #[allow(unsafe_code)]
        let library = unsafe { Library::load(&file)? };
        Ok(self.0.library.get_or_init(|| library).clone())
    }

    /// Fails unless the library can be loaded and all of Gymnasium's models are there.
    pub fn check(&self) -> Result<(), MujocoError> {
        self.library()?;
        MODELS.iter().try_for_each(|file| self.checked(file).map(drop))
    }

    /// Returns the first library that exists, or the one that is to be downloaded.
    pub(crate) fn library_file(&self) -> Result<KnownFile, MujocoError> {
        let [downloaded, ..] = &VERSIONS;
        let exists = |file: &KnownFile| self.directory().join(file.path).exists();
        let found = VERSIONS.iter().filter_map(Version::library).find(exists);
        found
            .or_else(|| downloaded.library())
            .ok_or(MujocoError::UnknownPlatform { system: OS, processor: ARCH })
    }

    /// Returns the path of one of Gymnasium's models, or `None` if Gymnasium has no model with this name.
    pub(crate) fn model(&self, name: &str) -> Result<Option<PathBuf>, MujocoError> {
        let file = MODELS.iter().find(|file| file.path.rsplit('/').next() == Some(name));
        file.map(|file| self.checked(file)).transpose()
    }

    /// Returns the path of a file after checking its contents.
    pub(crate) fn checked(&self, file: &KnownFile) -> Result<PathBuf, MujocoError> {
        let path = self.directory().join(file.path);
        let bytes = fs::read(&path).map_err(|reason| match reason.kind() {
            io::ErrorKind::NotFound => MujocoError::Missing { path: path.clone() },
            _ => MujocoError::Unreadable { path: path.clone(), reason },
        })?;
        let sha256 = format!("{:x}", Sha256::digest(&bytes));
        if sha256 == file.sha256 {
            return Ok(path);
        }
        Err(MujocoError::Damaged { path, found: sha256, expected: file.sha256 })
    }
}
