use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::{env, iter};

use downloads::Pip;

use super::builtin::built_in;
use super::error::RomError;
use super::manifest::{Manifest, RomEntry};
use super::store::{RomStore, read_file};

/// The environment variable that names the directory of ROMs of ale-py.
const DIRECTORY_OF_ALE_PY: &str = "ALE_ROMS_DIR";

/// The directories within a directory of Python packages that have ROMs named `ID.bin`: those of ale-py, and the two
/// that `AutoROM` fills.
const IN_PACKAGES: [&str; 3] = ["ale_py/roms", "multi_agent_ale_py/roms", "AutoROM/roms"];

/// The Python whose installed packages may have ROMs.
#[derive(Clone, Debug)]
pub enum Python {
    /// A running one, with the directories in which it searches for packages.
    Running(Vec<PathBuf>),
    /// The one that runs this pip. It is started only if a ROM is not found elsewhere.
    OfPip(Pip),
}

/// The sources of ROMs, searched in this order:
///
/// 1. the program, which contains the open games
/// 2. the user's [`RomStore`]
/// 3. the directory that `ALE_ROMS_DIR` names
/// 4. installed Python packages: ale-py, then `AutoROM`
///
/// Only the store is ever written, by a download. Files of the other sources are used if their MD5 is that of the
/// manifest.
#[derive(Clone, Debug)]
pub struct RomSources {
    /// None if nothing names a directory.
    store: Option<RomStore>,
    directory_of_ale_py: Option<PathBuf>,
    python: Python,
    /// The directories of packages of [`Python::OfPip`], once it was started.
    packages_of_pip: OnceLock<Vec<PathBuf>>,
    manifest: Arc<Manifest>,
}

/// The path of a file and its image.
type FoundImage = (PathBuf, Arc<[u8]>);

impl RomSources {
    /// Returns the sources with the user's store, which is in `chosen` if given. Accesses no file.
    pub fn locate(chosen: Option<&Path>, python: Python) -> Self {
        let variable = env::var_os(DIRECTORY_OF_ALE_PY).filter(|value| !value.is_empty());
        Self::new(
            RomStore::locate(chosen).ok(),
            variable.map(PathBuf::from),
            python,
            Manifest::shipped().clone(),
        )
    }

    /// Returns these sources for the images of `manifest`. Accesses no file.
    pub(super) fn new(
        store: Option<RomStore>,
        directory_of_ale_py: Option<PathBuf>,
        python: Python,
        manifest: Manifest,
    ) -> Self {
        Self {
            store,
            directory_of_ale_py,
            python,
            packages_of_pip: OnceLock::new(),
            manifest: Arc::new(manifest),
        }
    }

    /// Returns the store, or an error if nothing names a directory for it.
    pub fn store(&self) -> Result<&RomStore, RomError> {
        self.store.as_ref().ok_or(RomError::NoDirectory)
    }

    /// Returns the image of a game. A missing one is downloaded to the store if `pip` is given. A damaged image in the
    /// store is an error, because a file that was once valid has changed.
    pub fn obtain(&self, id: &str, pip: Option<&Pip>) -> Result<Arc<[u8]>, RomError> {
        if let Some(image) = built_in(id) {
            return Ok(image.into());
        }
        match self.find(id)? {
            Some((_, image)) => Ok(image),
            None => self.store()?.obtain(id, pip),
        }
    }

    /// Returns the path of a game's image, which is found or downloaded like the image of [`obtain`](Self::obtain). The
    /// image of an open game is written to the store.
    pub fn file(&self, id: &str, pip: Option<&Pip>) -> Result<PathBuf, RomError> {
        match self.find(id)? {
            Some((path, _)) => Ok(path),
            None => self.store()?.file(id, pip),
        }
    }

    /// Returns true if the image of a game needs no download.
    pub fn has(&self, id: &str) -> bool {
        built_in(id).is_some() || self.find(id).is_ok_and(|image| image.is_some())
    }

    /// Searches for the file of a game. Returns its path and its image. A store that cannot be read is an error only if
    /// no other directory has the image.
    fn find(&self, id: &str) -> Result<Option<FoundImage>, RomError> {
        if built_in(id).is_some() {
            return Ok(None);
        }
        let entry = self.manifest.entry(id)?;
        let mut unreadable = None;
        if let Some(store) = &self.store {
            match store.read(id) {
                Err(RomError::Missing { .. }) => {}
                Err(error @ RomError::Unreadable { .. }) => unreadable = Some(error),
                image => return image.map(|image| Some((store.path(id), image))),
            }
        }
        let directories = self.directory_of_ale_py.clone().into_iter();
        let mut directories = directories.chain(iter::once_with(|| self.directories_of_packages()).flatten());
        match (directories.find_map(|directory| intact_image(&directory, id, entry)), unreadable) {
            (None, Some(error)) => Err(error),
            (image, _) => Ok(image),
        }
    }

    /// Returns the directories of ROMs that installed packages may have: those of ale-py first.
    fn directories_of_packages(&self) -> impl Iterator<Item = PathBuf> {
        let packages = match &self.python {
            Python::Running(packages) => packages,
            Python::OfPip(pip) => self.packages_of_pip.get_or_init(|| pip.package_directories()),
        };
        IN_PACKAGES.iter().flat_map(move |roms| packages.iter().map(move |package| package.join(roms)))
    }
}

/// Returns the image of a game in a directory, and its path, if it is the one in the manifest.
fn intact_image(directory: &Path, id: &str, entry: &RomEntry) -> Option<FoundImage> {
    let path = directory.join(format!("{id}.bin"));
    // A file that cannot be read is not the user's concern: another directory may have the image.
    let image = read_file(&path).ok().flatten().filter(|image| entry.matches(image))?;
    Some((path, image.into()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;
    use crate::roms::Md5Sum;

    const IMAGE: &[u8] = b"the image of alpha";

    /// Returns sources below a directory: the store, `ale_roms_dir`, and two directories of packages.
    fn sources(root: &Path) -> RomSources {
        let manifest = format!("alpha = {{ md5 = \"{}\", size = {} }}\n", Md5Sum::of(IMAGE), IMAGE.len());
        let manifest = Manifest::parse(&manifest).unwrap();
        let packages = vec![root.join("first"), root.join("second")];
        RomSources::new(
            Some(RomStore::new(root.join("store"), manifest.clone())),
            Some(root.join("ale_roms_dir")),
            Python::Running(packages),
            manifest,
        )
    }

    #[test]
    fn the_first_place_with_an_intact_image_is_used_and_no_other_is_written() {
        let root = TempDir::new().unwrap();
        let sources = sources(root.path());
        assert!(!sources.has("alpha"));
        assert!(matches!(sources.obtain("alpha", None), Err(RomError::Missing { .. })));
        // From the last directory to the first.
        for directory in [
            "second/AutoROM/roms",
            "first/AutoROM/roms",
            "second/multi_agent_ale_py/roms",
            "second/ale_py/roms",
            "first/ale_py/roms",
            "ale_roms_dir",
            "store",
        ] {
            let directory = root.path().join(directory);
            fs::create_dir_all(&directory).unwrap();
            fs::write(directory.join("alpha.bin"), IMAGE).unwrap();
            assert_eq!(sources.file("alpha", None).unwrap(), directory.join("alpha.bin"));
            assert_eq!(*sources.obtain("alpha", None).unwrap(), *IMAGE);
            assert_eq!(fs::read_dir(&directory).unwrap().count(), 1);
        }
    }

    #[test]
    fn an_image_with_another_checksum_counts_only_in_the_store() {
        let root = TempDir::new().unwrap();
        let sources = sources(root.path());
        for (directory, image) in [
            ("ale_roms_dir", b"something else".as_slice()),
            ("first/ale_py/roms", b"other"),
            ("second/ale_py/roms", IMAGE),
        ] {
            fs::create_dir_all(root.path().join(directory)).unwrap();
            fs::write(root.path().join(directory).join("alpha.bin"), image).unwrap();
        }
        assert_eq!(sources.file("alpha", None).unwrap(), root.path().join("second/ale_py/roms/alpha.bin"));
        fs::create_dir_all(root.path().join("store")).unwrap();
        fs::write(root.path().join("store/alpha.bin"), b"damaged").unwrap();
        assert!(matches!(sources.obtain("alpha", None), Err(RomError::Damaged { .. })));
    }

    #[cfg(unix)]
    #[test]
    fn other_places_are_searched_if_the_store_cannot_be_read() {
        let root = TempDir::new().unwrap();
        fs::write(root.path().join("store"), b"no directory").unwrap();
        let sources = sources(root.path());
        assert!(matches!(sources.obtain("alpha", None), Err(RomError::Unreadable { .. })));
        let directory = root.path().join("first/ale_py/roms");
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("alpha.bin"), IMAGE).unwrap();
        assert_eq!(*sources.obtain("alpha", None).unwrap(), *IMAGE);
    }

    #[test]
    fn without_a_store_open_games_and_installed_images_are_found() {
        let root = TempDir::new().unwrap();
        let sources = RomSources { store: None, ..sources(root.path()) };
        assert!(sources.has("harvest"));
        assert_eq!(sources.obtain("harvest", None).unwrap().len(), 4096);
        assert!(matches!(sources.obtain("alpha", None), Err(RomError::NoDirectory)));
        let directory = root.path().join("second/ale_py/roms");
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("alpha.bin"), IMAGE).unwrap();
        assert_eq!(*sources.obtain("alpha", None).unwrap(), *IMAGE);
    }
}
