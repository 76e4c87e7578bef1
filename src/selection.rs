//! Selection of games and tasks by ids, sets and exclusions.

use std::sync::LazyLock;

use ale::roms::{Manifest, built_in};
use ale::{AleError, GAME_SETS, Game};
use anyhow::{Result, bail, ensure};
use rl_env::{Registry, nearest};

use crate::mujoco_tasks;

/// The set of every game.
const ALL: &str = "all";
/// The set of the built-in games.
const BUILT_IN: &str = "builtin";
/// The set of the classic control tasks with discrete actions.
const CLASSIC: &str = "classic";
/// The members of `CLASSIC`.
const CLASSIC_TASKS: [&str; 3] = ["CartPole-v1", "MountainCar-v0", "Acrobot-v1"];
/// The set of the toy text environments.
const TOY_TEXT: &str = "toy_text";
/// The members of `TOY_TEXT`.
pub(crate) const TOY_TEXT_TASKS: [&str; 6] = [
    "Blackjack-v1",
    "CliffWalking-v1",
    "CliffWalkingSlippery-v1",
    "FrozenLake-v1",
    "FrozenLake8x8-v1",
    "Taxi-v4",
];
/// The set of the tasks of `MuJoCo`, in their newest version.
const MUJOCO: &str = "mujoco";
/// The members of `MUJOCO`.
pub(crate) const MUJOCO_TASKS: [&str; 11] = [
    "Ant-v5",
    "HalfCheetah-v5",
    "Hopper-v5",
    "Humanoid-v5",
    "HumanoidStandup-v5",
    "InvertedDoublePendulum-v5",
    "InvertedPendulum-v5",
    "Pusher-v5",
    "Reacher-v5",
    "Swimmer-v5",
    "Walker2d-v5",
];
/// The sets of tasks other than Atari games.
const TASK_SETS: [(&str, &[&str]); 3] =
    [(CLASSIC, &CLASSIC_TASKS), (TOY_TEXT, &TOY_TEXT_TASKS), (MUJOCO, &MUJOCO_TASKS)];

/// The largest number of names in a selection, many times the number of games.
const MOST_NAMES: usize = 1000;

/// Returns the tasks other than Atari games, by the ids of Gymnasium.
pub(crate) fn registry() -> &'static Registry {
    static REGISTRY: LazyLock<Registry> = LazyLock::new(|| {
        let mut registry = Registry::new();
        let distinct = "all ids are distinct";
        classic_control::register(&mut registry).expect(distinct);
        toy_text::register(&mut registry).expect(distinct);
        mujoco::register(&mut registry, mujoco_tasks::installation()).expect(distinct);
        registry
    });
    &REGISTRY
}

/// Returns the ids that `names` select, without duplicates, in the order of the names. A name after `-` excludes ids
/// that earlier names have selected.
pub(crate) fn expand<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Vec<&'static str>> {
    let mut selected: Vec<&'static str> = Vec::new();
    for (index, name) in names.into_iter().enumerate() {
        check_number(index + 1)?;
        if let Some(excluded) = name.strip_prefix('-') {
            let excluded = members(excluded)?;
            let before = selected.len();
            selected.retain(|id| !excluded.contains(id));
            ensure!(selected.len() < before, "'{name}' excludes none of the games before it");
        } else {
            let new = members(name)?.into_iter().filter(|id| !selected.contains(id)).collect::<Vec<_>>();
            selected.extend(new);
        }
    }
    ensure!(!selected.is_empty(), "all games are excluded; `ale-train games` lists all games");
    Ok(selected)
}

/// Fails if there are more names than a selection needs: a file may contain any number.
pub(crate) fn check_number(names: usize) -> Result<()> {
    ensure!(names <= MOST_NAMES, "there are too many names of games; at most {MOST_NAMES} are possible");
    Ok(())
}

/// Returns the Atari games that `names` select.
pub(crate) fn games<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Vec<&'static Game>> {
    let game = |id| match ale::game(id) {
        Ok(game) => Ok(game),
        Err(_) => bail!("{id} is not an Atari game; `ale-train games` lists all games"),
    };
    expand(names)?.into_iter().map(game).collect()
}

/// Returns the sets that contain a game.
pub(crate) fn sets_of(game: &Game) -> Vec<&'static str> {
    GAME_SETS.into_iter().filter(|(_, holds)| holds(game)).map(|(set, _)| set).collect()
}

/// Returns the sets that contain a task other than an Atari game.
pub(crate) fn sets_of_task(id: &str) -> Vec<&'static str> {
    TASK_SETS.into_iter().filter(|(_, members)| members.contains(&id)).map(|(set, _)| set).collect()
}

fn members(name: &str) -> Result<Vec<&'static str>> {
    let of_games = |holds: fn(&Game) -> bool| {
        Ok(ale::games().iter().filter(|game| holds(game)).map(|game| game.id).collect())
    };
    match name {
        ALL => return of_games(|_| true),
        BUILT_IN => return of_games(|game| built_in(game.id).is_some()),
        _ => {}
    }
    if let Some((_, members)) = TASK_SETS.iter().find(|(set, _)| *set == name) {
        return Ok(members.to_vec());
    }
    if let Some((_, holds)) = GAME_SETS.iter().find(|(set, _)| *set == name) {
        return of_games(*holds);
    }
    if let Some(id) = id_of_spelling(name) {
        return Ok(vec![id]);
    }
    if Manifest::shipped().iter().any(|(id, _)| id == name) {
        bail!("{name} is a game for two players only, which ale-train does not support")
    }
    let nearest = match ale::game_named(name) {
        Err(error @ AleError::RamObservations { .. }) => bail!(error),
        // A set may be nearer than the similar games.
        Err(AleError::UnknownGame { id, .. }) => nearest(&id, ids().chain(sets())),
        _ => Vec::new(),
    };
    if nearest.is_empty() {
        bail!("unknown game or set '{name}'; `ale-train games` lists all games")
    }
    bail!("unknown game or set '{name}'; did you mean {}?", nearest.join(" or "))
}

/// Returns the id of a game or task in another spelling, such as `ALE/Pong-v5` or `cartpole-v1`.
pub(crate) fn id_of_spelling(name: &str) -> Option<&'static str> {
    let task = registry().ids().find(|id| id.eq_ignore_ascii_case(name));
    task.or_else(|| ale::game_named(name).ok().map(|game| game.id))
}

/// Returns true if a name is that of an Atari environment, which implies settings as well as a game.
pub(crate) fn names_settings(name: &str) -> bool {
    // Blackjack is both a toy text environment and an Atari game.
    let is_task = registry().ids().any(|id| id == name);
    !is_task
        && ale::game_named(name)
            .is_ok_and(|game| game.id.chars().filter(|letter| *letter != '_').count() < letters(name))
}

/// Returns the number of letters and digits of a name.
fn letters(name: &str) -> usize {
    name.chars().filter(|letter| letter.is_alphanumeric()).count()
}

/// Returns the ids of all games and tasks.
pub(crate) fn ids() -> impl Iterator<Item = &'static str> {
    ale::games().iter().map(|game| game.id).chain(registry().ids())
}

/// Returns the names of all sets.
pub(crate) fn sets() -> impl Iterator<Item = &'static str> {
    GAME_SETS.into_iter().map(|(set, _)| set).chain([ALL, BUILT_IN]).chain(TASK_SETS.map(|(set, _)| set))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(names: &[&str]) -> String {
        expand(names.iter().copied()).unwrap_err().to_string()
    }

    #[test]
    fn sets_have_their_members() {
        for (name, members) in [
            ("atari57", 57),
            ("atari100k", 26),
            ("atari5", 5),
            ("all", 105),
            ("builtin", 1),
            ("classic", 3),
            ("toy_text", 6),
            ("mujoco", 11),
        ] {
            assert_eq!(expand([name]).unwrap().len(), members, "{name}");
        }
        assert_eq!(sets_of(ale::game("alien").unwrap()), ["atari57", "atari100k"]);
        assert!(sets_of(ale::game("harvest").unwrap()).is_empty());
        for id in TASK_SETS.iter().flat_map(|(_, members)| *members) {
            assert!(registry().spec(id).is_ok(), "{id}");
        }
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
        assert!(message(&["pong", "-qbert"]).starts_with("'-qbert' excludes none"));
        assert!(message(&["atari57", "-skying"]).contains("did you mean skiing?"));
        assert!(message(&["pong", "-pong"]).starts_with("all games are excluded"));
    }

    #[test]
    fn a_selection_has_a_limited_number_of_names() {
        assert_eq!(expand(["pong"; MOST_NAMES]).unwrap(), ["pong"]);
        let error = message(&["pong"; MOST_NAMES + 1]);
        assert_eq!(error, "there are too many names of games; at most 1000 are possible");
    }

    #[test]
    fn errors_suggest_the_nearest_name() {
        assert_eq!(message(&["brekout"]), "unknown game or set 'brekout'; did you mean breakout?");
        assert!(message(&["atari75"]).contains("atari57"));
        assert!(message(&["CartPol-v1"]).contains("CartPole-v1"));
        assert!(message(&["chess960"]).ends_with("lists all games"));
    }

    #[test]
    fn other_spellings_select_the_same_game() {
        for name in ["Pong", "ALE/Pong-v5", "PongNoFrameskip-v4", "PongDeterministic-v4", "Pong-v0", "pong"] {
            assert_eq!(expand([name]).unwrap(), ["pong"], "{name}");
            assert_eq!(names_settings(name), name.contains("-v"), "{name}");
        }
        assert_eq!(expand(["atari5", "-NameThisGame", "cartpole-v1"]).unwrap().len(), 5);
        for name in ["space-invaders", "atari57", "CartPole-v1", "Blackjack-v1"] {
            assert!(!names_settings(name), "{name}");
        }
        assert!(message(&["ALE/Pnog-v5"]).ends_with("did you mean pong?"));
        assert!(message(&["BrekoutNoFrameskip-v4"]).ends_with("did you mean breakout?"));
        assert!(message(&["Pong-ram-v4"]).contains("has RAM observations"));
    }

    #[test]
    fn only_atari_games_are_games() {
        assert_eq!(games(["pong"]).unwrap()[0].id, "pong");
        assert!(games(["classic"]).unwrap_err().to_string().starts_with("CartPole-v1 is not an Atari game"));
    }
}
