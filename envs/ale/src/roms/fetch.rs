use std::path::PathBuf;
use std::sync::Arc;

use downloads::Pip;

use super::builtin::built_in;
use super::error::RomError;
use super::image::read_image;
use super::import::Imported;
use super::store::{RomState, RomStore};
use super::wheel::Wheel;

impl RomStore {
    /// Returns the image of a game, fetching it first if it is missing and `pip` is given. A damaged image is an error,
    /// because a file that was once valid has changed.
    pub fn obtain(&self, id: &str, pip: Option<&Pip>) -> Result<Arc<[u8]>, RomError> {
        match (self.read(id), pip) {
            (Err(RomError::Missing { .. }), Some(pip)) => {
                self.fetch(pip)?;
                self.read(id)
            }
            (outcome, _) => outcome,
        }
    }

    /// Returns the path of a game's image, fetching the image first like [`obtain`](Self::obtain). The image of an open
    /// game, which needs no file, is written.
    pub fn file(&self, id: &str, pip: Option<&Pip>) -> Result<PathBuf, RomError> {
        let image = self.obtain(id, pip)?;
        let path = self.path(id);
        if built_in(id).is_some() && read_image(&path).ok().as_deref() != Some(&image) {
            self.write(id, &image)?;
        }
        Ok(path)
    }

    /// Downloads the ale-py wheel with the user's pip and imports its images. It is an error if images of the manifest
    /// are still missing afterwards. Waits while another process downloads, and then downloads only if images are still
    /// missing. A complete store may be read-only.
    pub fn fetch(&self, pip: &Pip) -> Result<Imported, RomError> {
        let complete = || Imported { already_present: self.manifest().len(), ..Imported::default() };
        if self.absent()?.is_empty() {
            return Ok(complete());
        }
        let _lock = self.lock()?;
        if self.absent()?.is_empty() {
            return Ok(complete());
        }
        let wheel = Wheel::download(pip)?;
        let imported = self.import(wheel.path())?;
        let missing = self.absent()?;
        if missing.is_empty() {
            return Ok(imported);
        }
        Err(RomError::IncompleteWheel { missing, expected: self.manifest().len() })
    }

    /// Returns the games whose images are missing or damaged.
    fn absent(&self) -> Result<Vec<String>, RomError> {
        let states = self.list()?;
        let absent = states.into_iter().filter(|(_, state)| *state != RomState::Present);
        Ok(absent.map(|(id, _)| id.to_owned()).collect())
    }
}
