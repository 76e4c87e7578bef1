use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::builtin::built_in;
use super::digest::Md5Sum;
use super::directory;
use super::error::RomError;
use super::image::read_image;
use super::manifest::Manifest;

/// A directory with ROM images, each named `ID.bin` and checked against the manifest whenever it is read.
///
/// Several processes may use the same directory at once: images are written to temporary files and renamed, and
/// downloads take a lock.
///
/// ```
/// use ale::roms::{Manifest, RomError, RomStore};
///
/// let store = RomStore::new("no/such/directory".into(), Manifest::shipped().clone());
/// assert!(matches!(store.read("pong"), Err(RomError::Missing { .. })));
///
/// // The open game needs no file.
/// assert_eq!(store.read("harvest")?.len(), 4096);
/// # Ok::<(), RomError>(())
/// ```
#[derive(Clone, Debug)]
pub struct RomStore {
    directory: PathBuf,
    manifest: Arc<Manifest>,
}

/// The state of an image in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RomState {
    /// The image is there.
    Present,
    /// There is no file.
    Missing,
    /// The file has different content.
    Damaged {
        /// The file's MD5.
        found: Md5Sum,
    },
}

impl RomStore {
    /// Returns the user's store: in `chosen`, else in `ALE_TRAIN_ROMS`, else in the user's data directory
    /// (`$XDG_DATA_HOME/ale-train/roms` or `~/.local/share/ale-train/roms`). Accesses no file.
    pub fn locate(chosen: Option<&Path>) -> Result<Self, RomError> {
        Ok(Self::new(directory::locate(chosen)?, Manifest::shipped().clone()))
    }

    /// Returns a store in `directory` for the images of `manifest`. Accesses no file.
    pub fn new(directory: PathBuf, manifest: Manifest) -> Self {
        Self { directory, manifest: Arc::new(manifest) }
    }

    /// Returns the directory, which may not exist yet.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns the manifest of the store.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Returns the path of a game's image, which may not exist.
    pub fn path(&self, id: &str) -> PathBuf {
        self.directory.join(format!("{id}.bin"))
    }

    /// Returns the image of a game after checking its MD5. The images of the open games are always available.
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

    /// Returns the state of every image in alphabetical order.
    pub fn list(&self) -> Result<Vec<(&str, RomState)>, RomError> {
        self.manifest.iter().map(|(id, _)| Ok((id, self.state(id)?))).collect()
    }

    fn state(&self, id: &str) -> Result<RomState, RomError> {
        match self.read(id) {
            Ok(_) => Ok(RomState::Present),
            Err(RomError::Missing { .. }) => Ok(RomState::Missing),
            Err(RomError::Damaged { found, .. }) => Ok(RomState::Damaged { found }),
            Err(error) => Err(error),
        }
    }

    /// Writes an image to a temporary file in the same directory, flushes it to disk and renames it. After a crash
    /// there is either the old file or the new one.
    pub(super) fn write(&self, id: &str, bytes: &[u8]) -> Result<(), RomError> {
        self.create_directory()?;
        write_atomically(&self.directory, &self.path(id), bytes)
            .map_err(|reason| RomError::Unwritable { path: self.directory.clone(), reason })
    }

    fn create_directory(&self) -> Result<(), RomError> {
        fs::create_dir_all(&self.directory)
            .map_err(|reason| RomError::Unwritable { path: self.directory.clone(), reason })
    }

    /// Waits until no other process downloads into this directory. Dropping the returned file releases the lock. On a
    /// file system without locks, two processes may both download; each image is written atomically.
    pub(super) fn lock(&self) -> Result<File, RomError> {
        self.create_directory()?;
        let unwritable = |reason| RomError::Unwritable { path: self.directory.clone(), reason };
        let file = downloads::open_lock_file(&self.directory).map_err(unwritable)?;
        match file.lock() {
            // Ctrl-C in Python.
            Err(reason) if reason.kind() == io::ErrorKind::Interrupted => Err(unwritable(reason)),
            _ => Ok(file),
        }
    }
}

/// Returns the content of a file, or `None` if it does not exist.
pub(super) fn read_file(path: &Path) -> Result<Option<Vec<u8>>, RomError> {
    match read_image(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(reason) => Err(RomError::Unreadable { path: path.to_owned(), reason }),
    }
}

/// Writes a file of a directory by renaming a temporary file of the same directory.
fn write_atomically(directory: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = temporary_file(directory)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    sync_directory(directory)
}

/// Creates a temporary file that everyone may read: a store may be shared by the users of a machine.
fn temporary_file(directory: &Path) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".partial-");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644));
    builder.tempfile_in(directory)
}

/// Flushes a directory to disk, without which a rename in it may be lost. Windows has no such operation.
fn sync_directory(directory: &Path) -> io::Result<()> {
    if cfg!(unix) {
        File::open(directory)?.sync_all()?;
    }
    Ok(())
}
