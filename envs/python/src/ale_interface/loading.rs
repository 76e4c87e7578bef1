//! Loading of games. All emulators of a game share its ROM and its native code.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ale::roms::{self, Manifest, Pip, RomStore};
use ale::{AleError, PoweredGame, game, games};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::errors;

/// The games that were loaded, by id. A ROM is recognised by its content, so that an id has one image.
static POWERED: Mutex<BTreeMap<&str, PoweredGame>> = Mutex::new(BTreeMap::new());

/// Reads a ROM and returns it with the id of its game, if it is known.
pub(super) fn read(path: &Path) -> PyResult<(Arc<[u8]>, Option<&'static str>)> {
    let image = match roms::read_image(path) {
        // It is longer than any ROM.
        Err(error) if error.kind() == io::ErrorKind::InvalidData => return Ok((Arc::default(), None)),
        image => image.map_err(|error| errors::of_file(path, &error))?,
    };
    let built_in = games().iter().map(|game| game.id).find(|id| roms::built_in(id) == Some(&image));
    // ale-py's wheel also contains ROMs that no environment supports.
    let id = built_in.or_else(|| Manifest::shipped().identify(&image)).filter(|id| game(id).is_ok());
    Ok((image.into(), id))
}

/// Returns the game of a file.
pub(super) fn from_file(path: &Path) -> PyResult<PoweredGame> {
    let (image, id) = read(path)?;
    let Some(id) = id else {
        return Err(PyRuntimeError::new_err(format!(
            "{} is not the ROM of a supported game; ROMs are recognised by their MD5",
            path.display()
        )));
    };
    powered(id, || Ok(image))
}

/// Returns a game by its id. A missing ROM is downloaded with the pip of `python`.
pub(super) fn from_store(id: &str, python: &str) -> PyResult<PoweredGame> {
    powered(id, || roms::obtain(id, Some(&pip(python))).map_err(|error| errors::of_rom(&error)))
}

/// Returns the path of a game's ROM. A missing ROM is downloaded with the pip of `python`.
pub(crate) fn rom_path(id: &str, python: &str) -> PyResult<PathBuf> {
    let path = RomStore::locate(None).and_then(|store| store.file(id, Some(&pip(python))));
    path.map_err(|error| errors::of_rom(&error))
}

/// Returns the pip of `python`, which downloads missing ROMs.
fn pip(python: &str) -> Pip {
    Pip::new(|line| eprintln!("ale_train: {line}")).with_interpreter(python)
}

fn powered(id: &str, image: impl FnOnce() -> PyResult<Arc<[u8]>>) -> PyResult<PoweredGame> {
    let of_ale = |error: AleError| errors::of_ale(&error);
    let game = game(id).map_err(of_ale)?;
    let mut powered = POWERED.lock().unwrap_or_else(PoisonError::into_inner);
    if !powered.contains_key(game.id) {
        powered.insert(game.id, PoweredGame::new(game, image()?).map_err(of_ale)?);
    }
    Ok(powered[game.id].clone())
}

/// Returns a random seed.
pub(super) fn random_seed() -> u32 {
    RandomState::new().hash_one(()) as u32
}
