//! The presets: the experiments of `configs/`, embedded in the program.
//!
//! The table `[preset]` of each file describes it. Training ignores the table.

use std::sync::LazyLock;

use anyhow::{Result, bail};
use rl_env::nearest;
use serde::Deserialize;
use toml::{Table, Value};

use super::scaling::ByGames;
use super::schema::{PRESET, read};
use crate::game_mode::GameMode;
use crate::learner::Algorithm;
use crate::selection;

macro_rules! embedded {
    ($($name:literal)*) => {
        &[$(($name, include_str!(concat!("../../configs/", $name, ".toml")))),*]
    };
}

/// The names and texts of all files, ordered by algorithm, then from the built-in game to special protocols.
static FILES: &[(&str, &str)] = embedded! {
    "harvest-ppo" "atari-ppo" "pong-ppo" "fast-ppo" "many-ppo" "atari57-ppo" "machado-ppo" "rnd-ppo"
    "self-play-ppo" "cartpole-ppo" "acrobot-ppo" "pendulum-ppo" "mujoco-ppo" "box2d-ppo" "bipedal-walker-ppo"
    "minigrid-ppo"
    "harvest-dqn" "atari-dqn" "pong-dqn" "many-dqn" "nature-dqn" "rainbow-dqn" "atari100k-dqn" "drq-dqn"
    "cartpole-dqn" "acrobot-dqn" "mountaincar-dqn"
    "harvest-pqn" "atari-pqn" "many-pqn" "cartpole-pqn" "toy-text-pqn"
    "harvest-sac" "atari-sac" "many-sac" "cartpole-sac"
    "pendulum-sac" "mountaincar-continuous-sac" "mujoco-sac" "box2d-sac"
};

// The kinds of experiments that presets may be the default for, besides single games and families of tasks.
const ONE_GAME: &str = "one game";
const SEVERAL_GAMES: &str = "several games";
const SEVERAL_GAMES_ON_A_GPU: &str = "several games on a GPU";
const SEVERAL_PLAYERS: &str = "games of several players";
const IN_PYTHON: &str = "environments in Python";

/// A preset.
#[derive(Debug)]
pub(crate) struct Preset {
    /// The name: that of the file without its extension.
    pub(crate) name: &'static str,
    /// The file.
    pub(crate) text: &'static str,
    pub(crate) algorithm: Algorithm,
    pub(crate) about: About,
    /// The experiment, without the description.
    pub(super) experiment: Table,
}

/// The table `[preset]` of a file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct About {
    /// The purpose in one line.
    pub(crate) purpose: String,
    /// The ids of games, the families of tasks or the kinds of experiments that select the preset if no other is
    /// requested, separated by commas.
    pub(crate) default_for: Option<String>,
    /// The expected score.
    pub(crate) score: String,
    /// The expected duration.
    pub(crate) time: String,
    pub(super) by_games: Option<ByGames>,
}

impl About {
    /// Returns the games, families and kinds of experiments that select the preset.
    fn default_for(&self) -> impl Iterator<Item = &str> {
        self.default_for.iter().flat_map(|names| names.split(", "))
    }
}

/// A preset, and the reason why an experiment starts from it.
#[derive(Clone, Debug)]
pub(crate) struct Chosen {
    pub(crate) preset: &'static Preset,
    /// The games for which it was chosen; none if it was requested or none fits.
    reason: Option<String>,
}

impl Chosen {
    /// Returns the choice in a sentence.
    pub(crate) fn sentence(&self) -> String {
        let name = self.preset.name;
        match &self.reason {
            Some(reason) => format!("preset {name}, chosen for {reason}; --preset selects another"),
            None => format!("preset {name}"),
        }
    }
}

/// Returns all presets.
pub(crate) fn presets() -> &'static [Preset] {
    static PRESETS: LazyLock<Vec<Preset>> = LazyLock::new(|| {
        let preset = |&(name, text): &(&'static str, &'static str)| {
            Preset::parse(name, text).expect("a test parses every preset")
        };
        FILES.iter().map(preset).collect()
    });
    &PRESETS
}

impl Preset {
    fn parse(name: &'static str, text: &'static str) -> Result<Self> {
        let mut experiment: Table = text.parse()?;
        let about = experiment.remove(PRESET).unwrap_or_else(|| Value::Table(Table::new()));
        let algorithm = experiment.get("experiment").and_then(|section| section.get("algorithm"));
        let algorithm = algorithm.cloned().map(Value::try_into).transpose()?.unwrap_or_default();
        Ok(Self { name, text, algorithm, about: about.try_into()?, experiment: read(experiment)? })
    }
}

/// Returns the preset called `name`. If `algorithm` is given, it must be the preset's, and the name may omit it at its
/// end.
pub(crate) fn named(name: &str, algorithm: Option<Algorithm>) -> Result<&'static Preset> {
    let preset = found(name, algorithm)?;
    match algorithm {
        Some(wanted) if wanted != preset.algorithm => {
            bail!("{name} is a preset of {0}: use `ale-train {0} --preset {name}`", preset.algorithm)
        }
        _ => Ok(preset),
    }
}

/// Returns the preset called `name`, which may omit `algorithm` at its end.
fn found(name: &str, algorithm: Option<Algorithm>) -> Result<&'static Preset> {
    let with_algorithm = algorithm.map(|algorithm| format!("{name}-{algorithm}"));
    let is_named = |preset: &&Preset| preset.name == name || Some(preset.name) == with_algorithm.as_deref();
    let Some(preset) = presets().iter().find(is_named) else {
        let usable = |preset: &&Preset| algorithm.is_none_or(|algorithm| preset.algorithm == algorithm);
        let near = nearest(name, presets().iter().filter(usable).map(|preset| preset.name));
        match near.as_slice() {
            [] => bail!("unknown preset '{name}'; `ale-train presets` lists all presets"),
            near => bail!("unknown preset '{name}'; did you mean {}?", near.join(" or ")),
        }
    };
    Ok(preset)
}

/// Returns the choice of the preset that a file names. `algorithm` is that of the command or the file, if it is known.
pub(super) fn of_file(name: &str, algorithm: Option<Algorithm>) -> Result<Chosen> {
    let preset = found(name, algorithm)?;
    match algorithm {
        Some(wanted) if wanted != preset.algorithm => {
            bail!("preset = {name} requires `ale-train {}`, not `ale-train {wanted}`", preset.algorithm)
        }
        _ => Ok(Chosen { preset, reason: None }),
    }
}

/// Returns the choice of a preset by its name.
pub(super) fn requested(name: &str, algorithm: Option<Algorithm>) -> Result<Chosen> {
    Ok(Chosen { preset: named(name, algorithm)?, reason: None })
}

/// Returns the preset of an algorithm for the games with these ids: that of the game itself, else that of its family or
/// kind; tasks whose family has none take that of classic control. If there is none, the algorithm cannot learn these
/// games; the result is then its first preset, for a game that it can learn.
pub(super) fn fitting(ids: &[&'static str], device: &str, algorithm: Algorithm) -> Chosen {
    // The spaces of an environment in Python are not known yet. Most are small, like classic control.
    let family =
        |id: &&'static str| if selection::is_in_python(id) { Some(IN_PYTHON) } else { selection::family(id) };
    let family = ids.first().and_then(family);
    let has_opponents = ids.first().and_then(|id| GameMode::of_id(id)).is_some_and(|mode| mode.players > 1);
    let candidates: &[&str] = match (ids, family) {
        _ if has_opponents => &[SEVERAL_PLAYERS, ONE_GAME],
        ([id], Some(family)) => &[id, family, classic_control::FAMILY],
        (_, Some(family)) => &[family, classic_control::FAMILY],
        ([id], None) => &[id, ONE_GAME],
        ([], None) => &[ONE_GAME],
        (_, None) if device != "cpu" => &[SEVERAL_GAMES_ON_A_GPU, SEVERAL_GAMES],
        (_, None) => &[SEVERAL_GAMES],
    };
    let default_for = |candidate: &str| {
        presets().iter().find(|preset| {
            preset.algorithm == algorithm && preset.about.default_for().any(|name| name == candidate)
        })
    };
    let Some(preset) = candidates.iter().find_map(|candidate| default_for(candidate)) else {
        let first = presets().iter().find(|preset| preset.algorithm == algorithm);
        return Chosen { preset: first.expect("every algorithm has a preset"), reason: None };
    };
    let games = match ids {
        [id] => (*id).to_owned(),
        ids => format!("{} games", ids.len()),
    };
    Chosen { preset, reason: Some(games) }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn every_file_of_the_directory_is_embedded_and_valid() {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("configs");
        let files = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name());
        let mut files: Vec<String> = files.map(|name| name.into_string().unwrap()).collect();
        let mut names: Vec<String> = FILES.iter().map(|(name, _)| format!("{name}.toml")).collect();
        files.sort();
        names.sort();
        assert_eq!(names, files);
        for (name, text) in FILES {
            let preset = Preset::parse(name, text).unwrap();
            assert!(name.ends_with(&format!("-{}", preset.algorithm)), "{name} is for {}", preset.algorithm);
            let kinds = [ONE_GAME, SEVERAL_GAMES, SEVERAL_GAMES_ON_A_GPU, SEVERAL_PLAYERS, IN_PYTHON];
            for default_for in preset.about.default_for() {
                let is_game = selection::expand([default_for]).is_ok_and(|ids| ids == [default_for]);
                let is_family = selection::registry().specs().any(|(_, spec)| spec.family == default_for);
                assert!(is_game || is_family || kinds.contains(&default_for), "{name}: {default_for}");
            }
        }
    }

    #[test]
    fn games_and_device_select_the_preset() {
        use Algorithm::{Dqn, Ppo, Pqn, Sac};

        let chosen = |algorithm, games: &str, device| {
            fitting(&selection::expand(games.split(',')).unwrap(), device, algorithm).preset.name
        };
        for (algorithm, games, device, name) in [
            (Ppo, "harvest", "cpu", "harvest-ppo"),
            (Ppo, "pong", "cpu", "pong-ppo"),
            (Ppo, "pong@2p", "cpu", "self-play-ppo"),
            (Ppo, "boxing@2p,pong@2p", "cpu", "self-play-ppo"),
            (Pqn, "pong@2p", "cpu", "atari-pqn"),
            (Dqn, "pong", "cpu", "pong-dqn"),
            (Pqn, "pong", "cpu", "atari-pqn"),
            (Ppo, "breakout", "cuda", "atari-ppo"),
            (Ppo, "pong,breakout", "cpu", "many-ppo"),
            (Ppo, "atari57", "cpu", "many-ppo"),
            (Ppo, "atari57", "cuda:1", "atari57-ppo"),
            (Dqn, "atari57", "cpu", "many-dqn"),
            (Dqn, "atari57", "wgpu", "many-dqn"),
            (Pqn, "atari5", "cpu", "many-pqn"),
            (Ppo, "CartPole-v1", "cpu", "cartpole-ppo"),
            (Ppo, "classic", "cpu", "cartpole-ppo"),
            (Ppo, "Acrobot-v1", "cpu", "acrobot-ppo"),
            (Ppo, "Pendulum-v1", "cpu", "pendulum-ppo"),
            (Ppo, "FrozenLake-v1", "cpu", "cartpole-ppo"),
            (Ppo, "gymnasium:LunarLander-v3", "cpu", "cartpole-ppo"),
            (Ppo, "Hopper-v5", "cpu", "mujoco-ppo"),
            (Ppo, "Hopper-v4", "cpu", "mujoco-ppo"),
            (Ppo, "mujoco", "cpu", "mujoco-ppo"),
            (Pqn, "Acrobot-v1", "cpu", "cartpole-pqn"),
            (Pqn, "Taxi-v4", "cpu", "toy-text-pqn"),
            (Pqn, "FrozenLake-v1,FrozenLake8x8-v1", "cpu", "toy-text-pqn"),
            (Dqn, "MountainCar-v0", "cpu", "mountaincar-dqn"),
            (Ppo, "MountainCar-v0", "cpu", "cartpole-ppo"),
            (Sac, "Hopper-v5", "cpu", "mujoco-sac"),
            (Sac, "mujoco", "cpu", "mujoco-sac"),
            (Sac, "MountainCarContinuous-v0", "cpu", "mountaincar-continuous-sac"),
            (Sac, "Pendulum-v1", "cpu", "pendulum-sac"),
            (Sac, "gymnasium:BipedalWalker-v3", "cpu", "pendulum-sac"),
            (Sac, "CartPole-v1", "cpu", "cartpole-sac"),
            (Sac, "CartPole-v1,Acrobot-v1", "cpu", "cartpole-sac"),
            (Sac, "Taxi-v4", "cpu", "cartpole-sac"),
            (Sac, "harvest", "cpu", "harvest-sac"),
            (Sac, "pong", "cpu", "atari-sac"),
            (Sac, "pong,breakout", "cpu", "many-sac"),
        ] {
            assert_eq!(chosen(algorithm, games, device), name, "{algorithm} {games} {device}");
        }
        // Games that cannot be resolved are reported later.
        for &algorithm in Algorithm::ALL {
            let chosen = fitting(&[], "cpu", algorithm);
            assert!(chosen.reason.is_some(), "{algorithm}");
        }
    }

    #[test]
    fn names_are_found_with_and_without_their_algorithm() {
        assert_eq!(named("pong-dqn", None).unwrap().name, "pong-dqn");
        assert_eq!(named("pong", Some(Algorithm::Dqn)).unwrap().name, "pong-dqn");
        let error = |name, algorithm| named(name, algorithm).unwrap_err().to_string();
        assert_eq!(
            error("manny-ppo", Some(Algorithm::Ppo)),
            "unknown preset 'manny-ppo'; did you mean many-ppo?"
        );
        assert_eq!(
            error("rainbow-dqn", Some(Algorithm::Ppo)),
            "rainbow-dqn is a preset of dqn: use `ale-train dqn --preset rainbow-dqn`"
        );
        assert!(error("xyzxyz", None).contains("`ale-train presets` lists all presets"));
    }
}
