use std::sync::Arc;

use vcs::{Cartridge, CartridgeError, ConsoleOptions, Controller, Scheme, TvFormat, Wiring};

use super::multiplayer::Multiplayer;
use super::play::Play;
use crate::AleError;

/// The number of visible lines of a PAL game unless the table has another.
const DEFAULT_HEIGHT_50_HZ: u16 = 250;

/// A game: its hardware, actions, modes, rewards and the ends of its episodes.
///
/// ```
/// let pong = ale::game("pong")?;
/// let actions: Vec<&str> =
///     pong.minimal_actions.iter().map(|&code| ale::ACTION_NAMES[usize::from(code)]).collect();
/// assert_eq!(actions, ["NOOP", "FIRE", "RIGHT", "LEFT", "RIGHTFIRE", "LEFTFIRE"]);
/// assert!(pong.has_paddles() && pong.atari57);
/// assert_eq!(pong.human_normalised(14.6), Some(1.0));
/// # Ok::<(), ale::AleError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Game {
    /// The `snake_case` name of the game.
    pub id: &'static str,
    /// The name on the box.
    pub title: &'static str,
    /// The publisher, where known.
    pub publisher: Option<&'static str>,
    /// The year of publication, where known.
    pub year: Option<u16>,
    /// The cartridge's bank switching.
    pub bankswitch: Scheme,
    /// The television system that the reference detects.
    pub tv: TvFormat,
    /// True if the television system is known from the table. Otherwise the console detects it.
    pub(crate) tv_is_fixed: bool,
    /// The first visible scanline.
    pub ystart: u16,
    /// The number of visible scanlines, the height of the screen.
    pub height: u16,
    /// The controllers.
    pub wiring: Wiring,
    /// True if HMOVE blanks the beginning of lines.
    pub hmove_blanks: bool,
    /// The smallest and largest resistance of a paddle in ohms; `None` for joystick games.
    pub paddle_range: Option<(i32, i32)>,
    /// The codes of the actions that have an effect in the game.
    pub minimal_actions: &'static [u8],
    /// The codes of the actions that the game accepts; others become NOOP.
    pub legal_actions: &'static [u8],
    /// The game's modes for one player, chosen by the SELECT switch. Games for several players only have none.
    pub modes: &'static [u32],
    /// The mode in effect unless another is set.
    pub default_mode: u32,
    /// The values of the difficulty switches that the game supports. Bit 0 set means the left switch is at A; bit 1 is
    /// the right switch. The value in effect is 0 until another is set, even if 0 is not listed.
    pub difficulties: &'static [u32],
    /// The lives right after a reset in the default mode.
    pub start_lives: i32,
    /// True for the 57-game set of Bellemare et al. (2013) as used since Nature DQN.
    pub atari57: bool,
    /// True for the 26-game set of Kaiser et al. (2019).
    pub atari100k: bool,
    /// True for the 5-game set of Aitchison et al. (2023), whose scores predict those of the 57 games.
    pub atari5: bool,
    /// The mean score of a random player with up to 30 no-ops at the start (Wang et al., 2016), for normalisation.
    pub random_score: Option<f64>,
    /// The mean score of a human tester under the same conditions.
    pub human_score: Option<f64>,
    /// The highest possible score, where known.
    pub best_score: Option<f64>,
    /// A remark on unusual rules.
    pub note: Option<&'static str>,
    pub(crate) single_player: Play,
    /// The modes for several players.
    pub multiplayer: Option<Multiplayer>,
}

impl Game {
    /// Returns true if the game is played with paddles. Actions then turn a paddle instead of moving a joystick.
    pub fn has_paddles(&self) -> bool {
        self.wiring.left == Controller::Paddles || self.wiring.right == Controller::Paddles
    }

    /// Returns the game's modes for a number of players, or an error if it has none.
    pub fn modes_for(&self, players: usize) -> Result<&'static [u32], AleError> {
        let modes = match &self.multiplayer {
            _ if players == 1 => self.modes,
            Some(multiplayer) => multiplayer.modes_for(players),
            None => &[],
        };
        if modes.is_empty() {
            return Err(AleError::Players { game: self.id, players, allowed: self.players() });
        }
        Ok(modes)
    }

    /// Returns the actions that have an effect in a game of a number of players. Those of several players are
    /// multi-agent-ale-py's.
    pub fn minimal_actions_for(&self, players: usize) -> &'static [u8] {
        let several = self.multiplayer.as_ref().filter(|_| players > 1);
        several.and_then(|several| several.minimal_actions).unwrap_or(self.minimal_actions)
    }

    /// Returns the numbers of players for which the game has modes, in ascending order.
    pub fn players(&self) -> Vec<usize> {
        let one = (!self.modes.is_empty()).then_some(1);
        let several = self.multiplayer.iter().flat_map(Multiplayer::players);
        one.into_iter().chain(several).collect()
    }

    /// Returns the mode in effect for a number of players unless another is set.
    pub fn default_mode_for(&self, players: usize) -> Result<u32, AleError> {
        let modes = self.modes_for(players)?;
        Ok(if players == 1 { self.default_mode } else { modes[0] })
    }

    /// Returns an error unless the game has this mode for this number of players.
    pub fn check_mode(&self, players: usize, mode: u32) -> Result<(), AleError> {
        let allowed = self.modes_for(players)?;
        if allowed.contains(&mode) {
            return Ok(());
        }
        Err(AleError::UnknownMode { game: self.id, mode, allowed })
    }

    /// Returns the resets and the rules of games with a number of players, which must be one that the game has.
    pub(crate) fn play(&self, players: usize) -> &Play {
        self.multiplayer.as_ref().filter(|_| players > 1).map_or(&self.single_player, |several| &several.play)
    }

    /// Returns an error unless the game supports this setting of the difficulty switches.
    pub fn check_difficulty(&self, difficulty: u32) -> Result<(), AleError> {
        if self.difficulties.contains(&difficulty) {
            return Ok(());
        }
        Err(AleError::UnknownDifficulty { game: self.id, difficulty, allowed: self.difficulties })
    }

    /// Builds the cartridge of this game from a ROM image.
    pub(crate) fn cartridge(&self, rom: Arc<[u8]>) -> Result<Cartridge, CartridgeError> {
        Cartridge::new(rom, self.bankswitch)
    }

    /// Returns the options of the game's console.
    pub fn console_options(&self) -> ConsoleOptions {
        let default = ConsoleOptions::default();
        // The console increases the default height once it detects a PAL game.
        let increased = self.tv != TvFormat::Ntsc && self.height == DEFAULT_HEIGHT_50_HZ;
        ConsoleOptions {
            wiring: self.wiring,
            ystart: self.ystart,
            height: if increased { default.height } else { self.height },
            hmove_blanks: self.hmove_blanks,
            tv: self.tv_is_fixed.then_some(self.tv),
            ..default
        }
    }

    /// Returns the human-normalised score: 0 is a random player, 1 a human one.
    pub fn human_normalised(&self, score: f64) -> Option<f64> {
        let (random, human) = (self.random_score?, self.human_score?);
        Some((score - random) / (human - random))
    }
}
