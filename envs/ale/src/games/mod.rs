//! The games: a table with one row each.

use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use rl_env::nearest;
use serde::Deserialize;
use vcs::{Cartridge, CartridgeError, ConsoleOptions, Controller, Scheme, TvFormat, Wiring};

use crate::AleError;
use crate::action::ACTIONS;
use crate::mode_select::{Operation, OperationSource};
use crate::rules::{ParseError, Rules, RulesSource};

/// The games of the Atari 2600's own ROMs.
const TABLE: &str = include_str!("games.toml");
/// The built-in open game, whose row stands beside its source.
const OPEN_GAME: &str = include_str!("../../../../roms/open/harvest.toml");

/// The row of a game that is in no table, but for its bank switching.
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

/// What the Arcade Learning Environment knows about a game.
#[derive(Clone, Debug)]
pub struct Game {
    /// The `snake_case` name by which the game is asked for.
    pub id: &'static str,
    /// The name on the box.
    pub title: &'static str,
    /// Who published it, where known.
    pub publisher: Option<&'static str>,
    /// When, where known.
    pub year: Option<u16>,
    /// The cartridge's bank switching.
    pub bankswitch: Scheme,
    /// The television system that the reference detects.
    pub tv: TvFormat,
    /// The first visible scanline.
    pub ystart: u16,
    /// Number of visible scanlines, the height of the screen.
    pub height: u16,
    /// The controllers.
    pub wiring: Wiring,
    /// Whether HMOVE blanks the beginning of lines.
    pub hmove_blanks: bool,
    /// Smallest and largest resistance of a paddle in ohms; `None` for joystick games.
    pub paddle_range: Option<(i32, i32)>,
    /// The codes of the actions that do something in the game.
    pub minimal_actions: &'static [u8],
    /// The codes of the actions that may be given at all; others become NOOP.
    pub legal_actions: &'static [u8],
    /// The game's modes (its SELECT switch).
    pub modes: &'static [u32],
    /// The mode unless another is asked for.
    pub default_mode: u32,
    /// The values of the difficulty switches that the game knows. Bit 0 is the left switch at A, bit 1 the right one.
    /// The value in force is 0 until one is set, even where 0 is not listed.
    pub difficulties: &'static [u32],
    /// Lives right after a reset in the default mode.
    pub start_lives: i32,
    /// Member of the 57-game set of Bellemare et al. (2013) as used since Nature DQN.
    pub atari57: bool,
    /// Member of the 26-game set of Kaiser et al. (2019).
    pub atari100k: bool,
    /// Member of the 5-game set of Aitchison et al. (2023), whose scores predict those of the 57 games.
    pub atari5: bool,
    /// Mean score of a random player with 30 no-op starts (Wang et al., 2016), for normalisation.
    pub random_score: Option<f64>,
    /// Mean score of a human tester under the same conditions.
    pub human_score: Option<f64>,
    /// The highest score that can be reached, where the game has one that is known.
    pub best_score: Option<f64>,
    /// What is odd about the game.
    pub note: Option<&'static str>,
    /// Actions played at the end of every reset, with the number of frames each.
    pub(crate) starting_actions: Vec<(u8, u32)>,
    pub(crate) mode_select: Vec<Operation>,
    pub(crate) rules: Rules,
}

impl Game {
    /// A game that the table does not know: a joystick in each port, and neither rewards nor lives nor an end.
    pub fn without_rules(rom: &Arc<[u8]>) -> Result<&'static Self, CartridgeError> {
        /// One game for each scheme that was asked for, so that the leaked memory is bounded.
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

    /// Whether paddles are plugged in: then actions turn them instead of moving a joystick.
    pub fn has_paddles(&self) -> bool {
        self.wiring.left == Controller::Paddles || self.wiring.right == Controller::Paddles
    }

    /// Whether the game has this mode.
    pub(crate) fn check_mode(&self, mode: u32) -> Result<(), AleError> {
        if self.modes.contains(&mode) {
            return Ok(());
        }
        Err(AleError::UnknownMode { game: self.id, mode, allowed: self.modes })
    }

    /// Whether the game knows these difficulty switches.
    pub(crate) fn check_difficulty(&self, difficulty: u32) -> Result<(), AleError> {
        if self.difficulties.contains(&difficulty) {
            return Ok(());
        }
        Err(AleError::UnknownDifficulty { game: self.id, difficulty, allowed: self.difficulties })
    }

    /// The cartridge of this game with the given ROM image.
    pub(crate) fn cartridge(&self, rom: Arc<[u8]>) -> Result<Cartridge, CartridgeError> {
        Cartridge::new(rom, self.bankswitch)
    }

    /// How the console is built for it.
    pub(crate) fn console_options(&self) -> ConsoleOptions {
        let default = ConsoleOptions::default();
        // The console itself makes the picture higher once it has found out that the game is for PAL.
        let height = if self.tv == TvFormat::Ntsc { self.height } else { default.height };
        ConsoleOptions {
            wiring: self.wiring,
            ystart: self.ystart,
            height,
            hmove_blanks: self.hmove_blanks,
            ..default
        }
    }

    /// The score as a share of the way from a random to a human player.
    pub fn human_normalised(&self, score: f64) -> Option<f64> {
        let (random, human) = (self.random_score?, self.human_score?);
        Some((score - random) / (human - random))
    }
}

/// The name of a set of games, and which games are in it.
pub type GameSet = (&'static str, fn(&Game) -> bool);

/// The named sets of games. Who is in them is said in the games' rows.
pub const GAME_SETS: [GameSet; 3] =
    [("atari57", |game| game.atari57), ("atari100k", |game| game.atari100k), ("atari5", |game| game.atari5)];

/// All games in the order of the table.
pub fn games() -> &'static [Game] {
    static GAMES: LazyLock<Vec<Game>> = LazyLock::new(|| {
        [TABLE, OPEN_GAME]
            .into_iter()
            .flat_map(|table| parse(table).unwrap_or_else(|error| panic!("the table of games: {error}")))
            .collect()
    });
    &GAMES
}

/// The game with this id.
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

/// A row as it is written. What is left out has the commonest value.
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
            // The table lives as long as the program; leaking it spares every user a lifetime.
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
