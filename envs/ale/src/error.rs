use thiserror::Error;
use vcs::CartridgeError;

/// An error of the Arcade Learning Environment layer.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum AleError {
    /// No game has this id.
    #[error("unknown game \"{id}\"{}", nearest(.similar))]
    UnknownGame {
        /// The requested id.
        id: String,
        /// The most similar ids.
        similar: Vec<&'static str>,
    },
    /// The name is that of an environment whose observations are the RAM.
    #[error("{name} has RAM observations, which are not supported; use {game} instead")]
    RamObservations {
        /// The name.
        name: String,
        /// The id of its game.
        game: &'static str,
    },
    /// The game has no such mode.
    #[error("{game} has no mode {mode}; its modes are {allowed:?}")]
    UnknownMode {
        /// The game's id.
        game: &'static str,
        /// The requested mode.
        mode: u32,
        /// The game's modes.
        allowed: &'static [u32],
    },
    /// The game has no modes for this number of players.
    #[error("{game} cannot be played by {players} players; the numbers of its players are {allowed:?}")]
    Players {
        /// The game's id.
        game: &'static str,
        /// The requested number of players.
        players: usize,
        /// The numbers of players that are possible.
        allowed: Vec<usize>,
    },
    /// There is not exactly one action for each player.
    #[error("{game} has {players} players, but there are actions for {given}")]
    Actions {
        /// The game's id.
        game: &'static str,
        /// The number of players.
        players: usize,
        /// The number of actions.
        given: usize,
    },
    /// The game has no such difficulty.
    #[error("{game} has no difficulty {difficulty}; its difficulties are {allowed:?}")]
    UnknownDifficulty {
        /// The game's id.
        game: &'static str,
        /// The requested difficulty.
        difficulty: u32,
        /// The game's difficulties.
        allowed: &'static [u32],
    },
    /// A setting is out of range.
    #[error("{name} is {value}, but must be {allowed}")]
    Setting {
        /// The setting's name.
        name: &'static str,
        /// The rejected value.
        value: String,
        /// The allowed range, in words.
        allowed: String,
    },
    /// The ROM image is not a valid cartridge.
    #[error("the ROM of {game} cannot be used: {source}")]
    Cartridge {
        /// The game's id.
        game: String,
        /// The cause.
        source: CartridgeError,
    },
    /// A snapshot belongs to another game, another version, or is damaged.
    #[error("the snapshot does not belong to {game} or is damaged")]
    BadSnapshot {
        /// The game's id.
        game: &'static str,
    },
    /// The bytes are not a saved state.
    #[error("the bytes are not a saved state, or are damaged")]
    BadState,
    /// The state was saved by another version.
    #[error(
        "the state was saved by another version, in format {format}; this version reads format {expected}"
    )]
    StateFormat {
        /// The format of the state.
        format: u32,
        /// The format of this version.
        expected: u32,
    },
}

fn nearest(similar: &[&str]) -> String {
    if similar.is_empty() { String::new() } else { format!("; did you mean {}?", similar.join(" or ")) }
}
