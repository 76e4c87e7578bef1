use std::sync::Arc;

use ale::roms::{Manifest, UnknownImage, built_in};
use ale::{AleError, Game, PoweredGame};

use crate::error::FileError;

/// The largest image in bytes. Every cartridge is smaller.
const LARGEST: usize = 1 << 20;

/// The id of the built-in game.
const BUILT_IN: &str = "harvest";

/// A ROM in a console.
#[derive(Clone, Debug)]
pub struct Rom {
    powered: PoweredGame,
    /// A notice for the visitor about the image.
    note: Option<String>,
}

impl Rom {
    /// Returns the built-in game.
    ///
    /// ```
    /// let rom = browser::Rom::built_in()?;
    /// assert_eq!(rom.game().title, "Harvest");
    /// # Ok::<(), browser::FileError>(())
    /// ```
    pub fn built_in() -> Result<Self, FileError> {
        Self::open("", built_in(BUILT_IN).unwrap_or_default())
    }

    /// Recognises the game of an image by its MD5, or else by the name of its file, and inserts it into a console. Any
    /// other image runs without rewards, lives and an end of the game.
    pub fn open(name: &str, image: &[u8]) -> Result<Self, FileError> {
        if image.len() > LARGEST {
            return Err(FileError::TooLarge(image.len()));
        }
        let rom: Arc<[u8]> = image.into();
        let (game, note) = recognise(name, &rom)?;
        Ok(Self { powered: PoweredGame::new(game, rom)?, note })
    }

    /// Returns the game.
    pub fn game(&self) -> &'static Game {
        self.powered.game()
    }

    pub(crate) fn powered(&self) -> &PoweredGame {
        &self.powered
    }

    /// Returns what the visitor should know about the image, if there is something.
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }
}

/// Returns the game of an image, and a note if it is not a known image.
fn recognise(name: &str, image: &Arc<[u8]>) -> Result<(&'static Game, Option<String>), FileError> {
    if built_in(BUILT_IN) == Some(&**image) {
        return Ok((ale::game(BUILT_IN)?, None));
    }
    if let Some(id) = Manifest::shipped().identify(image) {
        return Ok((ale::game(id)?, None));
    }
    let bad = |game: &str| {
        let game = game.to_owned();
        move |source| AleError::Cartridge { game, source }
    };
    if let Some(unknown) = UnknownImage::named(name.as_ref(), image) {
        let game = unknown.game.with_default_hardware(image).map_err(bad(unknown.game.id))?;
        return Ok((game, Some(unknown.to_string())));
    }
    let note = "this ROM is none of the known games, so it has no score, no lives and no end";
    Ok((Game::without_rules(image).map_err(bad(name))?, Some(note.to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_recognised_by_their_contents_then_by_their_name() {
        let mut image = built_in(BUILT_IN).expect("the game").to_vec();
        let rom = Rom::open("x.bin", &image).expect("the built-in game");
        assert_eq!((rom.game().id, rom.note()), ("harvest", None));
        image[0] ^= 1;
        let named = Rom::open("Pong.a26", &image).expect("a cartridge");
        assert_eq!(named.game().id, "pong");
        assert!(named.note().is_some_and(|note| note.starts_with("unknown ROM of pong")));
        let other = Rom::open("my game.bin", &image).expect("a cartridge");
        assert_eq!(other.game().id, "unknown");
        assert!(other.note().is_some());
    }

    #[test]
    fn files_that_are_no_images_are_refused() {
        let error = |length: usize| Rom::open("a", &vec![0; length]).err().map(|error| error.to_string());
        assert!(error(100).is_some_and(|error| error.contains("100")));
        assert_eq!(error(LARGEST + 1), Some("it has 1048577 bytes, more than any ROM".to_owned()));
    }
}
