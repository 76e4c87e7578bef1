//! Loading of games. All emulators of a game share its ROM and its native code.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ale::roms::{self, Manifest, Pip, RomSources, UnknownImage};
use ale::{AleError, Game, PoweredGame, game, games};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use super::messages;
use crate::errors;

/// The games that were loaded, by id. A ROM is recognised by its content, so that an id has one image.
static POWERED: Mutex<BTreeMap<&str, PoweredGame>> = Mutex::new(BTreeMap::new());

/// Returns the id of a file's game, if it is known.
pub(super) fn supported(path: &Path) -> PyResult<Option<&'static str>> {
    match roms::read_image(path) {
        Ok(image) => Ok(identify(&image)),
        Err(error) if is_too_long(&error) => Ok(None),
        Err(error) => Err(errors::from_file(path, &error)),
    }
}

/// Returns true if a file was not read because it is longer than any ROM.
fn is_too_long(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::InvalidData
}

/// Returns the id of an image's game, if it is known.
fn identify(image: &[u8]) -> Option<&'static str> {
    let built_in = games().iter().map(|game| game.id).find(|id| roms::built_in(id) == Some(image));
    // ale-py's wheel also contains ROMs that no environment supports.
    built_in.or_else(|| Manifest::shipped().identify(image)).filter(|id| game(id).is_ok())
}

/// Returns the game of a file.
pub(super) fn from_file(path: &Path) -> PyResult<PoweredGame> {
    let image: Arc<[u8]> = match roms::read_image(path) {
        Ok(image) => image.into(),
        Err(error) if is_too_long(&error) => {
            return Err(PyRuntimeError::new_err(format!("{}: {error}", path.display())));
        }
        Err(error) => return Err(errors::from_file(path, &error)),
    };
    if let Some(id) = identify(&image) {
        let game = game(id).map_err(|error| errors::from_ale(&error))?;
        return powered(game, || Ok(image));
    }
    let Some(unknown) = UnknownImage::named(path, &image) else {
        return Err(PyRuntimeError::new_err(format!(
            "{} is not the ROM of a supported game; ROMs are recognised by their MD5, others only if the name of the file is \
             that of the game, such as space_invaders.bin",
            path.display()
        )));
    };
    messages::warn(&unknown);
    // Not shared, because an id has one known image.
    let game = unknown.game.with_default_hardware(&image);
    let game = game.map_err(|source| AleError::Cartridge { game: unknown.game.id.to_owned(), source });
    game.and_then(|game| PoweredGame::new(game, image)).map_err(|error| errors::from_ale(&error))
}

/// Returns a game. A missing ROM is downloaded.
pub(super) fn from_sources(game: &'static Game, sources: &RomSources, pip: &Pip) -> PyResult<PoweredGame> {
    powered(game, || sources.obtain(game.id, Some(pip)).map_err(|error| errors::from_rom(&error)))
}

/// Returns the path of a game's ROM. A missing ROM is downloaded.
pub(crate) fn rom_path(id: &str, sources: &RomSources, pip: &Pip) -> PyResult<PathBuf> {
    sources.file(id, Some(pip)).map_err(|error| errors::from_rom(&error))
}

fn powered(game: &'static Game, image: impl FnOnce() -> PyResult<Arc<[u8]>>) -> PyResult<PoweredGame> {
    let from_ale = |error: AleError| errors::from_ale(&error);
    if let Some(powered) = loaded(game.id) {
        return Ok(powered);
    }
    // Not locked: during a download, handlers of signals may load a game.
    let powered = PoweredGame::new(game, image()?).map_err(from_ale)?;
    Ok(lock_powered().entry(game.id).or_insert(powered).clone())
}

/// Returns a game that was loaded before.
pub(super) fn loaded(id: &str) -> Option<PoweredGame> {
    lock_powered().get(id).cloned()
}

fn lock_powered() -> MutexGuard<'static, BTreeMap<&'static str, PoweredGame>> {
    POWERED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns a random seed.
pub(super) fn random_seed() -> u32 {
    RandomState::new().hash_one(()) as u32
}
