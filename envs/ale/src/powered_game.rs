use std::sync::Arc;

use vcs::{Console, ConsoleOptions, TvFormat};

use crate::{AleError, Game};

/// A game with its ROM in a powered-on console: the part that all environments of one game share.
///
/// ```
/// use ale::{PoweredGame, game, roms};
///
/// let rom = roms::built_in("harvest").expect("the open game is built in");
/// let powered = PoweredGame::new(game("harvest")?, rom.into())?;
/// assert_eq!(powered.height(), 210);
/// # Ok::<(), ale::AleError>(())
/// ```
#[derive(Clone, Debug)]
pub struct PoweredGame {
    game: &'static Game,
    options: ConsoleOptions,
    /// The console right after power-up and detection of the television system, which depend on the ROM alone.
    console: Arc<Console>,
}

impl PoweredGame {
    /// Puts the ROM into a console and switches it on. The television system is detected by running some frames.
    pub fn new(game: &'static Game, rom: Arc<[u8]>) -> Result<Self, AleError> {
        Self::with_options(game, rom, &game.console_options())
    }

    /// Like [`new`](Self::new), but with options that differ from the game's. This is the only way to get SECAM, which
    /// cannot be detected from a program's frames.
    ///
    /// ```
    /// use ale::{PoweredGame, game, roms};
    /// use vcs::{ConsoleOptions, TvFormat};
    ///
    /// let rom = roms::built_in("harvest").expect("the open game is built in");
    /// let harvest = game("harvest")?;
    /// let options = ConsoleOptions { tv: Some(TvFormat::Secam), ..harvest.console_options() };
    /// let powered = PoweredGame::with_options(harvest, rom.into(), &options)?;
    /// assert_eq!(powered.height(), 250);
    /// # Ok::<(), ale::AleError>(())
    /// ```
    pub fn with_options(
        game: &'static Game,
        rom: Arc<[u8]>,
        options: &ConsoleOptions,
    ) -> Result<Self, AleError> {
        if options.height == 0 {
            let value = "0".to_owned();
            return Err(AleError::Setting { name: "height", value, allowed: "at least 1".to_owned() });
        }
        let cartridge =
            game.cartridge(rom).map_err(|source| AleError::Cartridge { game: game.id.to_owned(), source })?;
        Ok(Self { game, options: *options, console: Arc::new(Console::new(cartridge, options)) })
    }

    /// Returns the game.
    pub fn game(&self) -> &'static Game {
        self.game
    }

    /// Returns the television system of the console.
    pub fn tv(&self) -> TvFormat {
        self.console.tv()
    }

    /// Returns the number of rows of the screen.
    pub fn height(&self) -> usize {
        self.console.height()
    }

    /// Returns the console right after power-up.
    pub(crate) fn console(&self) -> &Console {
        &self.console
    }

    /// Returns a console right after power-up whose memory is filled by a generator with this seed.
    pub(crate) fn console_with_seed(&self, seed: u32) -> Console {
        self.console.power_on_with_seed(&self.options, seed)
    }
}
