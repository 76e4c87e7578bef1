//! Selection of games and tasks by ids, sets and exclusions.

use std::collections::BTreeSet;
use std::sync::{LazyLock, Mutex, PoisonError};

use ale::roms::built_in;
use ale::{AleError, GAME_SETS, Game};
use anyhow::{Result, bail, ensure};
use gymnasium_workers::EnvName;
use rl_env::{ActionKind, EnvSpec, Registry, nearest};

use crate::game_mode::{self, GameMode};
use crate::mujoco_tasks;

/// The set of every game.
const ALL: &str = "all";
/// The set of the built-in games.
const BUILT_IN: &str = "builtin";

/// The name of a set of tasks other than Atari games, and its membership test. It has the newest versions only.
type TaskSet = (&'static str, fn(&EnvSpec) -> bool);

/// The sets of tasks other than Atari games.
const TASK_SETS: [TaskSet; 3] = [
    ("classic", |spec| spec.family == classic_control::FAMILY && spec.action_kind == ActionKind::Discrete),
    ("toy_text", |spec| spec.family == toy_text::FAMILY),
    ("mujoco", |spec| spec.family == mujoco::FAMILY),
];

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

/// Returns the properties of a task other than an Atari game.
pub(crate) fn spec(id: &str) -> Option<EnvSpec> {
    registry().spec(id).ok()
}

/// Returns the family of a task other than an Atari game.
pub(crate) fn family(id: &str) -> Option<&'static str> {
    spec(id).map(|spec| spec.family)
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

/// Returns the modes of Atari games that `names` select.
pub(crate) fn game_modes<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Vec<GameMode>> {
    let mode = |id| match GameMode::of_id(id) {
        Some(mode) => Ok(mode),
        None => bail!("{id} is not an Atari game; `ale-train games` lists all games"),
    };
    expand(names)?.into_iter().map(mode).collect()
}

/// Returns the sets that contain a game.
pub(crate) fn sets_of(game: &Game) -> Vec<&'static str> {
    GAME_SETS.into_iter().filter(|(_, holds)| holds(game)).map(|(set, _)| set).collect()
}

/// Returns the sets that contain a task other than an Atari game.
pub(crate) fn sets_of_task(id: &str) -> Vec<&'static str> {
    let Some(spec) = spec(id) else { return Vec::new() };
    TASK_SETS.into_iter().filter(|set| is_member(set, id, &spec)).map(|(set, _)| set).collect()
}

fn is_member((_, holds): &TaskSet, id: &str, spec: &EnvSpec) -> bool {
    holds(spec) && registry().is_newest_version(id)
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
    if let Some(set) = TASK_SETS.iter().find(|(set, _)| *set == name) {
        let tasks = registry().specs().filter(|(id, spec)| is_member(set, id, spec));
        return Ok(tasks.map(|(id, _)| id).collect());
    }
    if let Some((_, holds)) = GAME_SETS.iter().find(|(set, _)| *set == name) {
        return of_games(*holds);
    }
    if let Some(id) = id_of_spelling(name) {
        return Ok(vec![id]);
    }
    if EnvName::PREFIXES.iter().any(|prefix| name.starts_with(prefix)) {
        name.parse::<EnvName>()?;
    }
    if let Some(game) = game_mode::game_of(name) {
        if game_mode::game_named(game).is_err() {
            // The error about an unknown game has suggestions.
            members(game)?;
            bail!("'{name}' is not possible: {game} is not one Atari game, which could have a mode")
        }
        GameMode::named(name)?;
    }
    if let Ok(game) = ale::multiplayer_game(name) {
        let numbers: Vec<String> =
            game.players().iter().map(|players| format!("{name}@{players}p")).collect();
        bail!("{name} is a game for several players only; choose their number: {}", numbers.join(" or "))
    }
    let nearest = match ale::game_named(name) {
        Err(error @ AleError::RamObservations { .. }) => bail!(error),
        // A set may be nearer than the similar games.
        Err(AleError::UnknownGame { id, .. }) => nearest(&id, ids().chain(sets())),
        _ => Vec::new(),
    };
    if nearest.is_empty() && has_version(name) {
        bail!(
            "unknown game or set '{name}'; `ale-train games` lists all games, and gymnasium:{name} would be an environment of \
             Gymnasium"
        )
    }
    if nearest.is_empty() {
        bail!("unknown game or set '{name}'; `ale-train games` lists all games")
    }
    bail!("unknown game or set '{name}'; did you mean {}?", nearest.join(" or "))
}

/// Returns the id of a game or task in another spelling, such as `ALE/Pong-v5`, `Breakout@12`, `cartpole-v1` or
/// `gym:LunarLander-v3`.
pub(crate) fn id_of_spelling(name: &str) -> Option<&'static str> {
    if let Ok(name) = name.parse::<EnvName>() {
        return Some(interned(name.to_string()));
    }
    let task = registry().ids().find(|id| id.eq_ignore_ascii_case(name));
    task.or_else(|| GameMode::named(name).ok().map(|mode| interned(mode.id())))
}

/// Returns true if a name ends with a version, like the ids of Gymnasium.
fn has_version(name: &str) -> bool {
    let version = name.rsplit_once("-v").map(|(_, version)| version);
    version.is_some_and(|version| version.parse::<u32>().is_ok())
}

/// Returns true for the id of an environment in Python.
pub(crate) fn is_in_python(id: &str) -> bool {
    id.parse::<EnvName>().is_ok()
}

/// Returns a name that lives as long as the program, like the ids of all games. A process selects few different names.
fn interned(name: String) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name.as_str()) {
        return known;
    }
    let name: &'static str = name.leak();
    names.insert(name);
    name
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
        for (name, members) in
            [("atari57", 57), ("atari100k", 26), ("atari5", 5), ("all", 105), ("builtin", 1)]
        {
            assert_eq!(expand([name]).unwrap().len(), members, "{name}");
        }
        assert_eq!(sets_of(ale::game("alien").unwrap()), ["atari57", "atari100k"]);
        assert!(sets_of(ale::game("harvest").unwrap()).is_empty());
    }

    #[test]
    fn sets_of_tasks_have_the_newest_versions_of_a_family() {
        assert_eq!(expand(["classic"]).unwrap(), ["CartPole-v1", "MountainCar-v0", "Acrobot-v1"]);
        for (set, of_family, member, others) in [
            ("toy_text", toy_text::FAMILY, "FrozenLake-v1", ["CartPole-v1", "Ant-v5"]),
            ("mujoco", mujoco::FAMILY, "Ant-v5", ["Ant-v4", "Pendulum-v1"]),
        ] {
            let members = expand([set]).unwrap();
            assert!(members.iter().all(|id| family(id) == Some(of_family)), "{members:?}");
            assert!(
                members.contains(&member) && others.iter().all(|id| !members.contains(id)),
                "{members:?}"
            );
            assert_eq!(sets_of_task(member), [set]);
        }
        assert!(["CartPole-v0", "Ant-v4", "Pendulum-v1"].iter().all(|id| sets_of_task(id).is_empty()));
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
    fn modes_are_tasks_of_their_own() {
        let names = ["breakout", "breakout@0", "Breakout@12", "breakout@12.0", "ALE/Breakout-v5@12.1"];
        assert_eq!(expand(names).unwrap(), ["breakout", "breakout@12", "breakout@12.1"]);
        assert_eq!(expand(["breakout", "breakout@12", "-breakout"]).unwrap(), ["breakout@12"]);
        for (name, expected) in [
            ("brekout@12", "unknown game or set 'brekout'; did you mean breakout?"),
            (
                "breakout@13",
                "breakout has no mode 13; its modes are [0, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44]",
            ),
            ("breakout@x", "the mode of 'breakout@x': 'x' is not a number"),
            (
                "atari57@1",
                "'atari57@1' is not possible: atari57 is not one Atari game, which could have a mode",
            ),
            (
                "CartPole-v1@1",
                "'CartPole-v1@1' is not possible: CartPole-v1 is not one Atari game, which could have a mode",
            ),
        ] {
            assert_eq!(format!("{:#}", expand([name]).unwrap_err()), expected);
        }
    }

    #[test]
    fn only_atari_games_are_games() {
        assert_eq!(game_modes(["pong"]).unwrap()[0].game.id, "pong");
        assert!(
            game_modes(["classic"]).unwrap_err().to_string().starts_with("CartPole-v1 is not an Atari game")
        );
    }
}
