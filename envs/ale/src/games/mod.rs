//! The games: a table with one row per game.

mod game;
mod multiplayer;
mod names;
mod play;
mod row;
mod unknown;

use std::sync::LazyLock;

use rl_env::nearest;

use crate::AleError;
pub use game::Game;
pub use multiplayer::Multiplayer;
pub use names::game_named;
pub(crate) use play::Play;

/// The games whose ROMs ale-py ships.
static TABLE: &str = include_str!("games.toml");
/// The built-in open game; its row is next to its source.
static OPEN_GAME: &str = include_str!("../../../../roms/open/harvest.toml");

/// The name of a set of games, and its membership test.
pub type GameSet = (&'static str, fn(&Game) -> bool);

/// The named sets of games. The rows of the games define their members.
pub const GAME_SETS: [GameSet; 3] =
    [("atari57", |game| game.atari57), ("atari100k", |game| game.atari100k), ("atari5", |game| game.atari5)];

/// Returns all games that one player can play, in the order of the table.
pub fn games() -> &'static [Game] {
    &TABLES.0
}

/// Returns all games that several players can play, those for several players only last.
///
/// ```
/// let warlords = ale::multiplayer_games().find(|game| game.id == "warlords");
/// assert_eq!(warlords.expect("a game for several players").players(), [2, 4]);
/// ```
pub fn multiplayer_games() -> impl Iterator<Item = &'static Game> {
    all_games().filter(|game| game.multiplayer.is_some())
}

/// The games that one player can play, and those for several players only.
static TABLES: LazyLock<(Vec<Game>, Vec<Game>)> = LazyLock::new(|| {
    let rows = [TABLE, OPEN_GAME].into_iter().flat_map(|table| {
        row::parse(table).unwrap_or_else(|error| panic!("invalid table of games: {error}"))
    });
    rows.partition(|game| !game.modes.is_empty())
});

fn all_games() -> impl Iterator<Item = &'static Game> {
    TABLES.0.iter().chain(&TABLES.1)
}

/// Returns the game with this id that one player can play.
///
/// ```
/// assert_eq!(ale::game("ms_pacman")?.title, "Ms. Pac-Man");
///
/// let error = ale::game("brekout").unwrap_err();
/// assert_eq!(error.to_string(), "unknown game \"brekout\"; did you mean breakout?");
/// # Ok::<(), ale::AleError>(())
/// ```
pub fn game(id: &str) -> Result<&'static Game, AleError> {
    games().iter().find(|game| game.id == id).ok_or_else(|| unknown_game(id))
}

/// Returns the game with this id that several players can play.
///
/// ```
/// assert_eq!(ale::multiplayer_game("combat")?.players(), [2]);
///
/// let error = ale::multiplayer_game("breakout").unwrap_err();
/// assert_eq!(error.to_string(), "breakout cannot be played by 2 players; the numbers of its players are [1]");
/// # Ok::<(), ale::AleError>(())
/// ```
pub fn multiplayer_game(id: &str) -> Result<&'static Game, AleError> {
    let game = all_games().find(|game| game.id == id).ok_or_else(|| unknown_game(id))?;
    if game.multiplayer.is_none() {
        return Err(AleError::Players { game: game.id, players: 2, allowed: game.players() });
    }
    Ok(game)
}

/// Returns true if a game has this id.
pub(crate) fn is_game(id: &str) -> bool {
    all_games().any(|game| game.id == id)
}

fn unknown_game(id: &str) -> AleError {
    let similar = nearest(id, games().iter().map(|game| game.id));
    AleError::UnknownGame { id: id.to_owned(), similar }
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
    fn suggests_the_nearest_ids() {
        let message = game("brekout").unwrap_err().to_string();
        assert_eq!(message, "unknown game \"brekout\"; did you mean breakout?");
    }
}
