//! Ids of Atari games in their modes. `breakout` is the default mode, `breakout@12` is mode 12, and `breakout@12.1` is
//! mode 12 with the difficulty switches in position 1. `pong@2p` is the default mode for two players, whose modes have
//! numbers of their own: `pong@2p@9` is mode 9.

use ale::{AleError, Game};
use anyhow::{Context, Result, anyhow};

/// The position of the difficulty switches unless another is set.
const DEFAULT_DIFFICULTY: u32 = 0;
/// Separates the game, the number of players and the mode.
const AT: char = '@';
/// Ends the number of players.
const PLAYERS: char = 'p';

/// An Atari game, its number of players, its mode, and the position of its difficulty switches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GameMode {
    pub(crate) game: &'static Game,
    pub(crate) players: usize,
    pub(crate) mode: u32,
    pub(crate) difficulty: u32,
}

impl GameMode {
    /// Returns the mode with an id.
    pub(crate) fn of_id(id: &str) -> Option<Self> {
        Self::read(id, |id| ale::game(id).or_else(|_| ale::multiplayer_game(id))).ok()
    }

    /// Returns the mode with a name, if there is one.
    pub(crate) fn of_spelling(name: &str) -> Option<Self> {
        Self::named(name).ok()
    }

    /// Returns the mode with a name, which may spell the game as other libraries do. Fails if there is no such mode.
    pub(crate) fn named(name: &str) -> Result<Self> {
        Self::read(name, game_named)
    }

    fn read(name: &str, find: impl Fn(&str) -> Result<&'static Game, AleError>) -> Result<Self> {
        let Some((game, rest)) = name.split_once(AT) else { return Self::default_of(find(name)?, 1) };
        let game = find(game)?;
        let (players, mode) = match rest.split_once(AT).unwrap_or((rest, "")) {
            (players, mode) if players.ends_with(PLAYERS) => {
                let players = number(players.trim_end_matches(PLAYERS));
                (players.with_context(|| format!("the number of players of '{name}'"))? as usize, mode)
            }
            _ => (1, rest),
        };
        let default = Self::default_of(game, players)?;
        if mode.is_empty() && name.ends_with(PLAYERS) {
            return Ok(default);
        }
        let (mode, difficulty) = mode.split_once('.').map_or((mode, None), |(mode, rest)| (mode, Some(rest)));
        let mode = number(mode).with_context(|| format!("the mode of '{name}'"))?;
        let difficulty =
            difficulty.map(number).transpose().with_context(|| format!("the difficulty of '{name}'"))?;
        game.check_mode(players, mode)?;
        let difficulty = difficulty.unwrap_or(DEFAULT_DIFFICULTY);
        game.check_difficulty(difficulty)?;
        Ok(Self { mode, difficulty, ..default })
    }

    /// Returns the default mode of a game for a number of players. Fails if it has none.
    pub(crate) fn default_of(game: &'static Game, players: usize) -> Result<Self> {
        let mode = game.default_mode_for(players)?;
        Ok(Self { game, players, mode, difficulty: DEFAULT_DIFFICULTY })
    }

    /// Returns true for a mode or a difficulty other than the default for this number of players.
    pub(crate) fn deviates(self) -> bool {
        self.game.default_mode_for(self.players).ok() != Some(self.mode)
            || self.difficulty != DEFAULT_DIFFICULTY
    }

    /// Returns the id: that of the game in its default mode for one player.
    pub(crate) fn id(self) -> String {
        let Self { game: Game { id, .. }, players, mode, difficulty } = self;
        let players = if players == 1 { String::new() } else { format!("{AT}{players}{PLAYERS}") };
        match (self.deviates(), difficulty) {
            (false, _) => format!("{id}{players}"),
            (true, DEFAULT_DIFFICULTY) => format!("{id}{players}{AT}{mode}"),
            (true, _) => format!("{id}{players}{AT}{mode}.{difficulty}"),
        }
    }
}

/// Returns the game with a name, which may be one for several players only.
pub(crate) fn game_named(name: &str) -> Result<&'static Game, AleError> {
    ale::game_named(name).or_else(|error| ale::multiplayer_game(name).map_err(|_| error))
}

/// Reads a number of decimal digits.
fn number(text: &str) -> Result<u32> {
    let number = text.parse().ok().filter(|_| text.starts_with(|first: char| first.is_ascii_digit()));
    number.ok_or_else(|| anyhow!("'{text}' is not a number"))
}

/// Returns the game in the name of a mode.
pub(crate) fn game_of(name: &str) -> Option<&str> {
    name.split_once(AT).map(|(game, _)| game)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_names_what_differs_from_the_default() {
        for (name, id) in [
            ("breakout", "breakout"),
            ("breakout@0", "breakout"),
            ("breakout@0.0", "breakout"),
            ("breakout@12", "breakout@12"),
            ("Breakout@12.0", "breakout@12"),
            ("ALE/Breakout-v5@12.1", "breakout@12.1"),
            ("breakout@0.1", "breakout@0.1"),
            ("Pong@2p", "pong@2p"),
            ("pong@2p@3", "pong@2p"),
            ("pong@2p@9.1", "pong@2p@9.1"),
            ("warlords@4p", "warlords@4p"),
        ] {
            let mode = GameMode::named(name).unwrap();
            assert_eq!(mode.id(), id, "{name}");
            assert_eq!(GameMode::of_id(id).map(GameMode::id).as_deref(), Some(id));
            assert_eq!(mode.deviates(), !["breakout", "pong@2p", "warlords@4p"].contains(&id));
        }
        assert!(GameMode::of_id("Breakout@12").is_none(), "another spelling is no id");
    }

    #[test]
    fn modes_that_do_not_exist_are_refused() {
        for (name, expected) in [
            ("breakout@", "the mode of 'breakout@': '' is not a number"),
            ("breakout@+4", "the mode of 'breakout@+4': '+4' is not a number"),
            ("breakout@4.x", "the difficulty of 'breakout@4.x': 'x' is not a number"),
            ("harvest@7", "harvest has no mode 7; its modes are [0]"),
            ("harvest@0.9", "harvest has no difficulty 9; its difficulties are [0]"),
            ("pong@p", "the number of players of 'pong@p': '' is not a number"),
            ("pong@2p@", "the mode of 'pong@2p@': '' is not a number"),
        ] {
            assert_eq!(format!("{:#}", GameMode::named(name).unwrap_err()), expected);
        }
        assert!(GameMode::named("brekout@12").is_err());
    }
}
