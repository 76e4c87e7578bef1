//! The Arcade Learning Environment on top of the Atari 2600: games with rewards, lives and terminal states, resets,
//! sticky actions, and the usual preprocessing. It equals ale-py 0.12.1 bit for bit.
//!
//! This crate is independent of threads and learners. Only [`roms`] accesses files.

mod action;
mod ale;
mod atari_env;
mod average;
mod error;
mod games;
mod ids;
mod limits;
mod mode_select;
mod palette;
mod powered_game;
mod preprocess;
pub mod roms;
mod rules;
mod screen;
mod settings;

pub use action::{ACTION_FACTORS, ACTION_NAMES, ACTIONS, Action, CHOICES};
pub use ale::{Ale, RecordedFrame, SOUND_RATE, SOUND_SAMPLES, SavedState};
pub use atari_env::{AtariEnv, AtariInfo, AtariOptions, AtariPlayersEnv, EpisodeRules};
pub use error::AleError;
pub use games::{
    GAME_SETS, Game, GameSet, Multiplayer, game, game_named, games, multiplayer_game, multiplayer_games,
};
pub use ids::{gymnasium_id, register};
pub use limits::{MAX_FRAME_SKIP, MAX_NOOP_MAX, MAX_PLAYERS, MAX_SIDE, MAX_STACK_NUM};
pub use palette::Palette;
pub use powered_game::PoweredGame;
pub use rl_env::RgbImage;
pub use screen::SCREEN_WIDTH;
pub use settings::AleSettings;
pub use vcs::RAM;
