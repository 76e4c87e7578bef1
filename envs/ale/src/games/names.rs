//! Names of games in other libraries.

use super::{Game, games, unknown_game};
use crate::AleError;

/// The variants of the environments of Gym, whose names follow that of the game.
const VARIANTS: [&str; 2] = ["NoFrameskip", "Deterministic"];

/// Returns the game that a name means. A name is one of:
///
/// * an id such as `ms_pacman`
/// * the name of an environment of Gymnasium, Gym or EnvPool, such as `ALE/MsPacman-v5`, `MsPacmanNoFrameskip-v4` and
///   `MsPacman-v0`
/// * another spelling of the id, such as `MsPacman` and `ms-pacman`
///
/// Only the game is taken from the name. Settings that belong to the environment, such as sticky actions, are not.
///
/// ```
/// assert_eq!(ale::game_named("ALE/MsPacman-v5")?.id, "ms_pacman");
/// # Ok::<(), ale::AleError>(())
/// ```
pub fn game_named(name: &str) -> Result<&'static Game, AleError> {
    let bare = without_version(name.strip_prefix("ALE/").unwrap_or(name));
    let bare = VARIANTS.into_iter().find_map(|variant| bare.strip_suffix(variant)).unwrap_or(bare);
    if let Some(game) = bare.strip_suffix("-ram").and_then(game_spelled) {
        return Err(AleError::RamObservations { name: name.to_owned(), game: game.id });
    }
    game_spelled(bare).ok_or_else(|| unknown_game(bare))
}

/// Returns the game whose id has the same letters and digits as a name.
fn game_spelled(name: &str) -> Option<&'static Game> {
    let name = letters(name);
    games().iter().find(|game| !name.is_empty() && letters(game.id) == name)
}

/// Removes a version such as `-v5`.
fn without_version(name: &str) -> &str {
    let version = name.rsplit_once("-v").filter(|(_, version)| version.parse::<u8>().is_ok());
    version.map_or(name, |(name, _)| name)
}

/// Returns the letters and digits of a name in lower case.
fn letters(name: &str) -> String {
    name.chars().filter(|letter| !matches!(letter, '_' | '-' | ' ')).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_spellings_mean_the_same_game() {
        for name in [
            "space_invaders",
            "space-invaders",
            "SpaceInvaders",
            "Space Invaders",
            "spaceinvaders",
            "ALE/SpaceInvaders-v5",
            "SpaceInvaders-v0",
            "SpaceInvaders-v5",
            "SpaceInvadersNoFrameskip-v4",
            "SpaceInvadersDeterministic-v0",
        ] {
            assert_eq!(game_named(name).unwrap().id, "space_invaders", "{name}");
        }
    }

    #[test]
    fn ids_without_separators_are_unique() {
        for game in games() {
            assert_eq!(game_named(game.id).unwrap().id, game.id);
            assert_eq!(game_named(&game.id.replace('_', "")).unwrap().id, game.id);
        }
    }

    #[test]
    fn environments_that_observe_the_ram_are_refused() {
        for name in ["Pong-ram-v0", "Pong-ramNoFrameskip-v4", "ALE/Pong-ram-v5"] {
            let error = game_named(name).unwrap_err().to_string();
            assert_eq!(
                error,
                format!("{name} has RAM observations, which are not supported; use pong instead")
            );
        }
    }

    #[test]
    fn unknown_names_suggest_the_nearest_id() {
        for name in ["ALE/Pnog-v5", "PnogNoFrameskip-v4", "Pnog"] {
            assert!(game_named(name).unwrap_err().to_string().ends_with("did you mean pong?"), "{name}");
        }
        for name in ["", "-v5", "ALE/", "NoFrameskip-v4"] {
            assert!(game_named(name).is_err(), "{name}");
        }
    }
}
