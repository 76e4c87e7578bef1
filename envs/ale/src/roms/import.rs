use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use zip::ZipArchive;

use super::error::RomError;
use super::image::open_regular;
use super::store::RomStore;

/// The outcome of an import or a download.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// The number of files examined.
    pub files: usize,
    /// The games whose images were written, in the order found.
    pub written: Vec<String>,
    /// The number of images found that the store already had.
    pub already_present: usize,
}

impl RomStore {
    /// Imports every known image from a file, a directory and its subdirectories, or a zip archive such as a wheel,
    /// whatever the names of the files. Skips images that the store already has and replaces damaged ones. Within a
    /// directory, skips subdirectories, files and archives that cannot be read.
    pub fn import(&self, source: &Path) -> Result<Imported, RomError> {
        let mut search = Search { store: self, imported: Imported::default() };
        let metadata = fs::metadata(source).map_err(unreadable(source))?;
        if metadata.is_dir() {
            search.directory(source)?;
        } else {
            search.file(source)?;
        }
        let Imported { files, written, already_present } = &search.imported;
        if written.is_empty() && *already_present == 0 {
            return Err(RomError::NothingToImport { path: source.to_owned(), files: *files });
        }
        Ok(search.imported)
    }
}

struct Search<'a> {
    store: &'a RomStore,
    imported: Imported,
}

impl Search<'_> {
    /// Examines every file below a directory. Links to directories are not followed, so that the walk ends.
    fn directory(&mut self, directory: &Path) -> Result<(), RomError> {
        for entry in fs::read_dir(directory).map_err(unreadable(directory))?.flatten() {
            let path = entry.path();
            let examined = if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                self.directory(&path)
            } else if fs::metadata(&path).is_ok_and(|target| target.is_file()) {
                self.file(&path)
            } else {
                Ok(())
            };
            match examined {
                Err(RomError::Unreadable { .. } | RomError::BadArchive { .. }) => self.imported.files += 1,
                other => other?,
            }
        }
        Ok(())
    }

    fn file(&mut self, path: &Path) -> Result<(), RomError> {
        let mut file = open_regular(path).map_err(unreadable(path))?;
        if is_archive(path) {
            return self.archive(path, file);
        }
        let image = self.read_image(&mut file).map_err(unreadable(path))?;
        self.image(image.as_deref())
    }

    /// Examines every file in a zip archive.
    fn archive(&mut self, path: &Path, file: File) -> Result<(), RomError> {
        let bad = |reason: String| RomError::BadArchive { path: path.to_owned(), reason };
        let mut archive =
            ZipArchive::new(io::BufReader::new(file)).map_err(|error| bad(error.to_string()))?;
        for index in 0..archive.len() {
            let mut entry = archive.by_index(index).map_err(|error| bad(error.to_string()))?;
            if entry.is_file() {
                let image = self.read_image(&mut entry).map_err(|error| bad(error.to_string()))?;
                self.image(image.as_deref())?;
            }
        }
        Ok(())
    }

    /// Returns the content of a file unless it is longer than any image. Never reads more than that, whatever length
    /// the file or the archive claims.
    fn read_image(&self, reader: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
        let largest = self.store.manifest().largest();
        let mut bytes = Vec::new();
        reader.take(largest as u64 + 1).read_to_end(&mut bytes)?;
        Ok((bytes.len() <= largest).then_some(bytes))
    }

    fn image(&mut self, image: Option<&[u8]>) -> Result<(), RomError> {
        self.imported.files += 1;
        let Some(bytes) = image else { return Ok(()) };
        let Some(id) = self.store.manifest().identify(bytes) else {
            return Ok(());
        };
        if self.store.read(id).is_ok() {
            // The source may contain an image twice; the second one does not count as already present.
            self.imported.already_present +=
                usize::from(!self.imported.written.iter().any(|written| written == id));
        } else {
            self.store.write(id, bytes)?;
            self.imported.written.push(id.to_owned());
        }
        Ok(())
    }
}

fn is_archive(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| ["zip", "whl"].contains(&extension.to_ascii_lowercase().as_str()))
}

fn unreadable(path: &Path) -> impl FnOnce(io::Error) -> RomError {
    let path = path.to_owned();
    move |reason| RomError::Unreadable { path, reason }
}
