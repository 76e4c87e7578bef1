use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::builtin::built_in;
use super::digest::Md5Sum;
use super::directory;
use super::error::RomError;
use super::manifest::Manifest;

/// A folder with ROM images, each named `ID.bin` and checked against the manifest whenever it is read.
///
/// Several processes may use the same folder at once: images appear by renaming a complete file, and downloads take
/// a lock.
#[derive(Clone, Debug)]
pub struct RomStore {
    directory: PathBuf,
    manifest: Arc<Manifest>,
}

/// What is in the store in the place of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RomState {
    /// The image itself.
    Present,
    /// Nothing.
    Missing,
    /// A file with other contents.
    Damaged {
        /// The file's MD5.
        found: Md5Sum,
    },
}

impl RomStore {
    /// The user's store: in `chosen`, else in `ALE_TRAIN_ROMS`, else in the user's data folder
    /// (`$XDG_DATA_HOME/ale-train/roms` or `~/.local/share/ale-train/roms`). Touches no file.
    pub fn locate(chosen: Option<&Path>) -> Result<Self, RomError> {
        Ok(Self::new(directory::locate(chosen)?, Manifest::shipped().clone()))
    }

    /// A store in `folder` for the images of `manifest`. Touches no file.
    pub fn new(directory: PathBuf, manifest: Manifest) -> Self {
        Self { directory, manifest: Arc::new(manifest) }
    }

    /// The folder, which need not exist yet.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The images that the store is for.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Where the image of a game lies, or would lie.
    pub fn path(&self, id: &str) -> PathBuf {
        self.directory.join(format!("{id}.bin"))
    }

    /// The image of a game, its MD5 checked. Those of the open games are always at hand.
    pub fn read(&self, id: &str) -> Result<Arc<[u8]>, RomError> {
        if let Some(image) = built_in(id) {
            return Ok(image.into());
        }
        let entry = self.manifest.entry(id)?;
        let path = self.path(id);
        match read_file(&path)? {
            None => Err(RomError::Missing { id: id.to_owned(), path }),
            Some(bytes) if entry.matches(&bytes) => Ok(bytes.into()),
            Some(bytes) => Err(RomError::Damaged {
                id: id.to_owned(),
                path,
                found: Md5Sum::of(&bytes),
                expected: entry.md5,
            }),
        }
    }

    /// The state of every image, in alphabetical order.
    pub fn list(&self) -> Result<Vec<(&str, RomState)>, RomError> {
        let state = |id: &str| match self.read(id) {
            Ok(_) => Ok(RomState::Present),
            Err(RomError::Missing { .. }) => Ok(RomState::Missing),
            Err(RomError::Damaged { found, .. }) => Ok(RomState::Damaged { found }),
            Err(error) => Err(error),
        };
        self.manifest.iter().map(|(id, _)| Ok((id, state(id)?))).collect()
    }

    /// Writes an image: to a temporary file in the same folder, flushed to the disk, then renamed. After a crash at any
    /// moment there is either the old file or the new one.
    pub(super) fn write(&self, id: &str, bytes: &[u8]) -> Result<(), RomError> {
        self.create_directory()?;
        let unwritable = |reason| RomError::Unwritable { path: self.directory.clone(), reason };
        let write = || -> io::Result<()> {
            let mut file = temporary_file(&self.directory)?;
            file.write_all(bytes)?;
            file.as_file().sync_all()?;
            file.persist(self.path(id))?;
            sync_directory(&self.directory)
        };
        write().map_err(unwritable)
    }

    fn create_directory(&self) -> Result<(), RomError> {
        fs::create_dir_all(&self.directory)
            .map_err(|reason| RomError::Unwritable { path: self.directory.clone(), reason })
    }

    /// Waits until no other process downloads into this folder. The lock ends with the returned file.
    pub(super) fn lock(&self) -> Result<File, RomError> {
        self.create_directory()?;
        let lock = || -> io::Result<File> {
            let file = File::create(self.directory.join(".lock"))?;
            file.lock()?;
            Ok(file)
        };
        lock().map_err(|reason| RomError::Unwritable { path: self.directory.clone(), reason })
    }
}

/// The contents of a file, or nothing where there is none.
fn read_file(path: &Path) -> Result<Option<Vec<u8>>, RomError> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(reason) => Err(RomError::Unreadable { path: path.to_owned(), reason }),
    }
}

/// A temporary file that anyone may read once it is renamed: a store may be shared by the users of a machine.
fn temporary_file(directory: &Path) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".partial-");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644));
    builder.tempfile_in(directory)
}

/// A renamed file is only safe once its folder is on the disk too. Windows has no such operation.
fn sync_directory(directory: &Path) -> io::Result<()> {
    if cfg!(unix) {
        File::open(directory)?.sync_all()?;
    }
    Ok(())
}
