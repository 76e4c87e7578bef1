//! The names by which games and tasks are asked for: ids, sets of them, and what is left out again.

use std::sync::LazyLock;

use ale::roms::{built_in, nearest};
use ale::{GAME_SETS, Game};
use anyhow::{Result, bail, ensure};
use rl_env::Registry;

/// The set of every game.
const ALL: &str = "all";
/// The set of the games that are built in.
const BUILT_IN: &str = "builtin";
/// The set of the classic control tasks that learners with discrete actions can train on.
const CLASSIC: &str = "classic";
/// Its members.
const CLASSIC_TASKS: [&str; 3] = ["CartPole-v1", "MountainCar-v0", "Acrobot-v1"];

/// The tasks beside the games, by Gymnasium's ids.
pub(crate) fn registry() -> &'static Registry {
    static REGISTRY: LazyLock<Registry> = LazyLock::new(|| {
        let mut registry = Registry::new();
        classic_control::register(&mut registry).expect("an empty registry takes every id");
        registry
    });
    &REGISTRY
}

/// What `names` mean, each once, in the order in which they are named. A name with `-` before it takes out what the names
/// before it have put in.
pub(crate) fn expand<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Vec<&'static str>> {
    let mut selected: Vec<&'static str> = Vec::new();
    for name in names {
        if let Some(excluded) = name.strip_prefix('-') {
            let excluded = members(excluded)?;
            let before = selected.len();
            selected.retain(|id| !excluded.contains(id));
            ensure!(selected.len() < before, "'{name}' takes nothing out of the games named before it");
        } else {
            let new = members(name)?.into_iter().filter(|id| !selected.contains(id)).collect::<Vec<_>>();
            selected.extend(new);
        }
    }
    ensure!(!selected.is_empty(), "no games are left; `ale-train games` lists all");
    Ok(selected)
}

/// The Atari games that `names` mean.
pub(crate) fn games<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Vec<&'static Game>> {
    let game = |id| match ale::game(id) {
        Ok(game) => Ok(game),
        Err(_) => bail!("{id} is no Atari game; `ale-train games` lists all"),
    };
    expand(names)?.into_iter().map(game).collect()
}

/// The sets that a game is in.
pub(crate) fn sets_of(game: &Game) -> Vec<&'static str> {
    GAME_SETS.into_iter().filter(|(_, holds)| holds(game)).map(|(set, _)| set).collect()
}

fn members(name: &str) -> Result<Vec<&'static str>> {
    let of_games = |holds: fn(&Game) -> bool| {
        Ok(ale::games().iter().filter(|game| holds(game)).map(|game| game.id).collect())
    };
    match name {
        ALL => return of_games(|_| true),
        BUILT_IN => return of_games(|game| built_in(game.id).is_some()),
        CLASSIC => return Ok(CLASSIC_TASKS.to_vec()),
        _ => {}
    }
    if let Some((_, holds)) = GAME_SETS.iter().find(|(set, _)| *set == name) {
        return of_games(*holds);
    }
    if let Some(id) = ids().find(|id| *id == name) {
        return Ok(vec![id]);
    }
    let nearest = nearest(name, ids().chain(sets()));
    if nearest.is_empty() {
        bail!("unknown game or set '{name}'; `ale-train games` lists all")
    }
    bail!("unknown game or set '{name}'; did you mean {}?", nearest.join(" or "))
}

/// The ids of all games and tasks.
fn ids() -> impl Iterator<Item = &'static str> {
    ale::games().iter().map(|game| game.id).chain(registry().ids())
}

/// The names of all sets.
pub(crate) fn sets() -> impl Iterator<Item = &'static str> {
    GAME_SETS.into_iter().map(|(set, _)| set).chain([ALL, BUILT_IN, CLASSIC])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(names: &[&str]) -> String {
        expand(names.iter().copied()).unwrap_err().to_string()
    }

    #[test]
    fn sets_have_their_members() {
        for (name, members) in
            [("atari57", 57), ("atari100k", 26), ("atari5", 5), ("all", 105), ("builtin", 1), ("classic", 3)]
        {
            assert_eq!(expand([name]).unwrap().len(), members, "{name}");
        }
        assert_eq!(sets_of(ale::game("alien").unwrap()), ["atari57", "atari100k"]);
        assert!(sets_of(ale::game("harvest").unwrap()).is_empty());
        assert!(CLASSIC_TASKS.into_iter().all(|id| registry().spec(id).is_ok()));
    }

    #[test]
    fn duplicates_are_selected_once() {
        let ids = expand(["qbert", "atari5", "qbert"]).unwrap();
        assert_eq!(ids, ["qbert", "battle_zone", "double_dunk", "name_this_game", "phoenix"]);
    }

    #[test]
    fn exclusions_apply_to_earlier_names() {
        assert_eq!(expand(["atari57", "-skiing"]).unwrap().len(), 56);
        assert_eq!(expand(["atari57", "-atari5", "qbert"]).unwrap().len(), 53);
        assert_eq!(expand(["atari5", "-atari5", "qbert"]).unwrap(), ["qbert"]);
        assert!(message(&["pong", "-qbert"]).starts_with("'-qbert' takes nothing out"));
        assert!(message(&["atari57", "-skying"]).contains("did you mean skiing?"));
        assert!(message(&["pong", "-pong"]).starts_with("no games are left"));
    }

    #[test]
    fn errors_suggest_the_nearest_name() {
        assert_eq!(message(&["brekout"]), "unknown game or set 'brekout'; did you mean breakout?");
        assert!(message(&["atari75"]).contains("atari57"));
        assert!(message(&["CartPol-v1"]).contains("CartPole-v1"));
        assert!(message(&["chess960"]).ends_with("lists all"));
    }

    #[test]
    fn only_atari_games_are_games() {
        assert_eq!(games(["pong"]).unwrap()[0].id, "pong");
        assert!(games(["classic"]).unwrap_err().to_string().starts_with("CartPole-v1 is no Atari game"));
    }
}
