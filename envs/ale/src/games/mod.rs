//! The games: a table with one row per game.

use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use rl_env::nearest;
use serde::Deserialize;
use vcs::{Cartridge, CartridgeError, ConsoleOptions, Controller, Scheme, TvFormat, Wiring};

use crate::AleError;
use crate::action::ACTIONS;
use crate::mode_select::{Operation, OperationSource};
use crate::rules::{ParseError, Rules, RulesSource};

/// The games whose ROMs ale-py ships.
const TABLE: &str = include_str!("games.toml");
/// The built-in open game; its row is next to its source.
const OPEN_GAME: &str = include_str!("../../../../roms/open/harvest.toml");

/// The row of a ROM that is not in the table, without its bank switching.
const UNKNOWN: &str = r#"
id = "unknown"
title = "Unknown ROM"
minimal_actions = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17]
modes = [0]
default_mode = 0
difficulties = [0, 1, 2, 3]
start_lives = 0
rules = { init = { lives = 0 }, step = [] }
"#;

/// A game: hardware facts, actions, modes, rewards and the end of its episodes.
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
    /// The game's modes, chosen by the SELECT switch.
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
    /// The actions at the end of every reset, each with its number of frames.
    pub(crate) starting_actions: Vec<(u8, u32)>,
    pub(crate) mode_select: Vec<Operation>,
    pub(crate) rules: Rules,
}

impl Game {
    /// Returns the game for a ROM that is not in the table: a joystick in each port, no rewards, no lives, no end.
    pub fn without_rules(rom: &Arc<[u8]>) -> Result<&'static Self, CartridgeError> {
        /// One game per scheme, so that the leaked memory is bounded.
        static GAMES: Mutex<Vec<&Game>> = Mutex::new(Vec::new());
        let scheme = Cartridge::detect(Arc::clone(rom))?.scheme();
        let mut games = GAMES.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(game) = games.iter().find(|game| game.bankswitch == scheme) {
            return Ok(game);
        }
        let row = format!("bankswitch = \"{scheme}\"\n{UNKNOWN}");
        let row: Row = toml::from_str(&row).expect("the row of an unknown ROM is valid");
        let game =
            Box::leak(Box::new(row.build().expect("the row of an unknown ROM has no rules to reject")));
        games.push(game);
        Ok(game)
    }

    /// Returns true if the game is played with paddles. Actions then turn a paddle instead of moving a joystick.
    pub fn has_paddles(&self) -> bool {
        self.wiring.left == Controller::Paddles || self.wiring.right == Controller::Paddles
    }

    /// Returns an error unless the game has this mode.
    pub(crate) fn check_mode(&self, mode: u32) -> Result<(), AleError> {
        if self.modes.contains(&mode) {
            return Ok(());
        }
        Err(AleError::UnknownMode { game: self.id, mode, allowed: self.modes })
    }

    /// Returns an error unless the game supports this setting of the difficulty switches.
    pub(crate) fn check_difficulty(&self, difficulty: u32) -> Result<(), AleError> {
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
        // The console increases the height once it detects a PAL game.
        let height = if self.tv == TvFormat::Ntsc { self.height } else { default.height };
        ConsoleOptions {
            wiring: self.wiring,
            ystart: self.ystart,
            height,
            hmove_blanks: self.hmove_blanks,
            ..default
        }
    }

    /// Returns the human-normalised score: 0 is a random player, 1 a human one.
    pub fn human_normalised(&self, score: f64) -> Option<f64> {
        let (random, human) = (self.random_score?, self.human_score?);
        Some((score - random) / (human - random))
    }
}

/// The name of a set of games, and its membership test.
pub type GameSet = (&'static str, fn(&Game) -> bool);

/// The named sets of games. The rows of the games define their members.
pub const GAME_SETS: [GameSet; 3] =
    [("atari57", |game| game.atari57), ("atari100k", |game| game.atari100k), ("atari5", |game| game.atari5)];

/// Returns all games in the order of the table.
pub fn games() -> &'static [Game] {
    static GAMES: LazyLock<Vec<Game>> = LazyLock::new(|| {
        [TABLE, OPEN_GAME]
            .into_iter()
            .flat_map(|table| parse(table).unwrap_or_else(|error| panic!("invalid table of games: {error}")))
            .collect()
    });
    &GAMES
}

/// Returns the game with this id.
///
/// ```
/// assert_eq!(ale::game("ms_pacman")?.title, "Ms. Pac-Man");
///
/// let error = ale::game("brekout").unwrap_err();
/// assert_eq!(error.to_string(), "unknown game \"brekout\"; did you mean breakout?");
/// # Ok::<(), ale::AleError>(())
/// ```
pub fn game(id: &str) -> Result<&'static Game, AleError> {
    games().iter().find(|game| game.id == id).ok_or_else(|| unknown(id))
}

fn unknown(id: &str) -> AleError {
    let similar = nearest(id, games().iter().map(|game| game.id));
    AleError::UnknownGame { id: id.to_owned(), similar }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    game: Vec<Row>,
}

/// A row as written in the table. Omitted fields take the most common value.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    id: String,
    title: String,
    publisher: Option<String>,
    year: Option<u16>,
    bankswitch: Scheme,
    #[serde(default)]
    tv: TvFormat,
    #[serde(default = "default_ystart")]
    ystart: u16,
    #[serde(default = "default_height")]
    height: u16,
    #[serde(default)]
    left: Controller,
    #[serde(default)]
    right: Controller,
    #[serde(default)]
    swap_ports: bool,
    #[serde(default)]
    swap_paddles: bool,
    #[serde(default = "yes")]
    hmove_blanks: bool,
    paddle_range: Option<(i32, i32)>,
    minimal_actions: Vec<u8>,
    #[serde(default = "all_actions")]
    legal_actions: Vec<u8>,
    modes: Vec<u32>,
    default_mode: u32,
    difficulties: Vec<u32>,
    #[serde(default)]
    starting_actions: Vec<(u8, u32)>,
    start_lives: i32,
    #[serde(default)]
    atari57: bool,
    #[serde(default)]
    atari100k: bool,
    #[serde(default)]
    atari5: bool,
    random_score: Option<f64>,
    human_score: Option<f64>,
    best_score: Option<f64>,
    note: Option<String>,
    #[serde(default)]
    mode_select: Vec<OperationSource>,
    rules: RulesSource,
}

fn default_ystart() -> u16 {
    ConsoleOptions::default().ystart
}

fn default_height() -> u16 {
    ConsoleOptions::default().height
}

fn yes() -> bool {
    true
}

fn all_actions() -> Vec<u8> {
    (0..ACTIONS).collect()
}

#[derive(Debug, thiserror::Error)]
enum TableError {
    #[error(transparent)]
    Toml(#[from] toml::de::Error),
    #[error("{game}: {error}")]
    Rule { game: String, error: ParseError },
}

fn parse(table: &str) -> Result<Vec<Game>, TableError> {
    let table: Table = toml::from_str(table)?;
    table
        .game
        .into_iter()
        .map(|row| {
            let id = row.id.clone();
            row.build().map_err(|error| TableError::Rule { game: id, error })
        })
        .collect()
}

impl Row {
    fn build(self) -> Result<Game, ParseError> {
        let (mut rules, mut symbols) = Rules::compile(&self.rules)?;
        let mode_select = Operation::compile(&self.mode_select, &mut symbols)?;
        rules.finish(&symbols);
        Ok(Game {
            // The table lives as long as the program; leaking it avoids a lifetime parameter everywhere.
            id: self.id.leak(),
            title: self.title.leak(),
            publisher: self.publisher.map(|text| &*text.leak()),
            year: self.year,
            bankswitch: self.bankswitch,
            tv: self.tv,
            ystart: self.ystart,
            height: self.height,
            wiring: Wiring {
                left: self.left,
                right: self.right,
                swap_ports: self.swap_ports,
                swap_paddles: self.swap_paddles,
            },
            hmove_blanks: self.hmove_blanks,
            paddle_range: self.paddle_range,
            minimal_actions: self.minimal_actions.leak(),
            legal_actions: self.legal_actions.leak(),
            modes: self.modes.leak(),
            default_mode: self.default_mode,
            difficulties: self.difficulties.leak(),
            start_lives: self.start_lives,
            atari57: self.atari57,
            atari100k: self.atari100k,
            atari5: self.atari5,
            random_score: self.random_score,
            human_score: self.human_score,
            best_score: self.best_score,
            note: self.note.map(|text| &*text.leak()),
            starting_actions: self.starting_actions,
            mode_select,
            rules,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn game_sets_have_the_published_sizes() {
        let sizes = GAME_SETS.map(|(name, holds)| (name, games().iter().filter(|game| holds(game)).count()));
        assert_eq!(sizes, [("atari57", 57), ("atari100k", 26), ("atari5", 5)]);
    }

    #[test]
    fn rows_are_consistent() {
        for game in games() {
            assert!(game.modes.contains(&game.default_mode), "{}", game.id);
            assert!(
                game.minimal_actions.iter().all(|action| game.legal_actions.contains(action)),
                "{}",
                game.id
            );
            assert_eq!(game.has_paddles(), game.paddle_range.is_some(), "{}", game.id);
            assert_eq!(game.random_score.is_some(), game.human_score.is_some(), "{}", game.id);
        }
    }

    #[test]
    fn an_unknown_rom_runs_without_rules() {
        let rom: Arc<[u8]> = crate::roms::built_in("harvest").expect("the open game").into();
        let game = Game::without_rules(&rom).expect("a cartridge");
        let powered = crate::PoweredGame::new(game, rom).expect("a game");
        let mut ale = crate::Ale::new(&powered, crate::AleSettings::default(), 1).expect("settings");
        let rewards: i32 = (0..3000).map(|_| ale.act(crate::Action::NOOP, 1.0)).sum();
        assert_eq!((rewards, ale.lives(), ale.game_over(), ale.frame_number()), (0, 0, false, 3000));
        assert!(Game::without_rules(&vec![0; 100].into()).is_err());
    }

    #[test]
    fn unknown_roms_of_one_scheme_share_a_game() {
        let unknown = |image: Vec<u8>| Game::without_rules(&image.into()).expect("a cartridge");
        assert!(std::ptr::eq(unknown(vec![1; 4096]), unknown(vec![2; 4096])));
        assert_ne!(unknown(vec![1; 2048]).bankswitch, unknown(vec![1; 4096]).bankswitch);
    }

    #[test]
    fn suggests_the_nearest_ids() {
        let message = game("brekout").unwrap_err().to_string();
        assert_eq!(message, "unknown game \"brekout\"; did you mean breakout?");
    }
}
