use std::fmt;
use std::path::Path;

use super::builtin::built_in;
use super::digest::Md5Sum;
use super::manifest::Manifest;
use crate::{Game, game};

/// An image that is not the known one of its game, for example a patched or another dump.
#[derive(Clone, Copy, Debug)]
pub struct UnknownImage {
    /// The game that the name of the file means.
    pub game: &'static Game,
    /// The MD5 of the image.
    pub found: Md5Sum,
    /// The MD5 of the known image.
    pub expected: Md5Sum,
}

impl UnknownImage {
    /// Returns the game that the name of an image's file means, as in ale-py: its id, in upper or lower case, with any
    /// extension. None if there is no such game.
    ///
    /// ```
    /// use ale::roms::UnknownImage;
    ///
    /// let unknown = UnknownImage::named("roms/Pong.bin".as_ref(), &[0; 2048]);
    /// assert_eq!(unknown.map(|unknown| unknown.game.id), Some("pong"));
    /// assert!(UnknownImage::named("my_pong.bin".as_ref(), &[0; 2048]).is_none());
    /// ```
    pub fn named(path: &Path, image: &[u8]) -> Option<Self> {
        let id = path.file_stem()?.to_str()?.to_lowercase();
        let game = game(&id).ok()?;
        let expected = match built_in(game.id) {
            Some(image) => Md5Sum::of(image),
            None => Manifest::shipped().entry(game.id).ok()?.md5,
        };
        Some(Self { game, found: Md5Sum::of(image), expected })
    }
}

impl fmt::Display for UnknownImage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { game, found, expected } = self;
        write!(
            f,
            "unknown ROM of {}: its MD5 is {found}, but {expected} is expected; rewards, lives and the end of the game may be \
             wrong",
            game.id
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_the_file_decides_the_game() {
        let game_of = |name: &str| UnknownImage::named(name.as_ref(), b"?").map(|unknown| unknown.game.id);
        for name in ["pong.bin", "a/PONG.BIN", "Pong.a26", "pong"] {
            assert_eq!(game_of(name), Some("pong"), "{name}");
        }
        assert_eq!(game_of("harvest.bin"), Some("harvest"));
        for name in ["", "foo.bin", "pong_2.bin", "pong.v1.bin", "combat.bin"] {
            assert_eq!(game_of(name), None, "{name}");
        }
    }

    #[test]
    fn the_message_names_both_checksums() {
        let message = UnknownImage::named("pong.bin".as_ref(), b"abc").unwrap().to_string();
        assert!(message.contains("900150983cd24fb0d6963f7d28e17f72"), "{message}");
        assert!(message.contains("60e0ea3cbe0913d39803477945e9e5ec"), "{message}");
    }
}
