use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use zip::ZipArchive;

use super::error::RomError;
use super::store::RomStore;

/// What an import or a download did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// Number of files that were looked at.
    pub files: usize,
    /// The games whose images were written, in the order in which they were found.
    pub written: Vec<String>,
    /// Number of images found that the store had already.
    pub already_present: usize,
}

impl RomStore {
    /// Takes every known image out of a file, a folder (with its subfolders) or a zip archive (a wheel is one), whatever
    /// the files are called. Images that the store already has are left alone, damaged ones replaced.
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
    /// Every file below `folder`. Links to folders are not followed, so the walk ends.
    fn directory(&mut self, directory: &Path) -> Result<(), RomError> {
        let mut waiting: Vec<PathBuf> = vec![directory.to_owned()];
        while let Some(directory) = waiting.pop() {
            for entry in fs::read_dir(&directory).map_err(unreadable(&directory))? {
                let entry = entry.map_err(unreadable(&directory))?;
                let kind = entry.file_type().map_err(unreadable(&entry.path()))?;
                if kind.is_dir() {
                    waiting.push(entry.path());
                } else if fs::metadata(entry.path()).is_ok_and(|target| target.is_file()) {
                    self.file(&entry.path())?;
                }
            }
        }
        Ok(())
    }

    fn file(&mut self, path: &Path) -> Result<(), RomError> {
        let mut file = File::open(path).map_err(unreadable(path))?;
        if is_archive(path) {
            return self.archive(path, file);
        }
        let image = self.read_image(&mut file).map_err(unreadable(path))?;
        self.image(image.as_deref())
    }

    /// Every file in a zip archive; a wheel is one.
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

    /// The contents of a file, unless it is longer than any image. Never reads more than that, whatever the file or
    /// the archive says about its length.
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
            // The same image may lie in the source twice; it was written, not found present, then.
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
