use anyhow::{Result, bail, ensure};
use rl_env::{ActionKind, nearest};

use super::drawn::Drawn;
use super::flavour::Flavour;
use super::key_path::quoted;
use super::sections::EnvironmentSettings;
use crate::selection;
use crate::statistics::mean;
use crate::telemetry::TrackedGame;

/// The games of an experiment.
#[derive(Clone, Debug)]
pub(crate) enum Games {
    /// Atari games, each mode once.
    Atari(Vec<Flavour>),
    /// Tasks of the registry and environments in Python, each once. They have no emulator: a frame is a step.
    Tasks(Vec<&'static str>),
}

/// Fails unless a game with overrides is among the games of an experiment.
pub(super) fn check_override(name: &str, games: &[&str]) -> Result<()> {
    let suggestion = match nearest(name, games.iter().copied()).first() {
        Some(near) => format!("; did you mean {near}?"),
        None => String::new(),
    };
    ensure!(
        games.contains(&name),
        "environments.game.{} is not possible: '{name}' is not among the games of the experiment{suggestion}",
        quoted(name)
    );
    Ok(())
}

impl Games {
    /// Returns the games that ids and sets select.
    pub(crate) fn resolve(names: &[String]) -> Result<Self> {
        ensure!(!names.is_empty(), "environments.games is empty; `ale-train games` lists all games");
        let ids = selection::expand(names.iter().map(String::as_str))?;
        let (atari, tasks): (Vec<_>, Vec<_>) = ids.into_iter().partition(|id| Flavour::of_id(id).is_some());
        match (atari.first(), tasks.first()) {
            (None, _) => Ok(Self::Tasks(tasks)),
            (Some(_), None) => Self::of_flavours(atari.into_iter().filter_map(Flavour::of_id).collect()),
            (Some(game), Some(env)) if selection::is_in_python(env) => {
                bail!("{env} cannot be trained together with {game}, which does not run in Python")
            }
            (Some(game), Some(task)) => {
                bail!(
                    "{task} cannot be trained together with {game}: the observations of {task} are not images"
                )
            }
        }
    }

    /// Returns Atari games, which share a network. Fails if their numbers of players differ.
    fn of_flavours(flavours: Vec<Flavour>) -> Result<Self> {
        if let Some(other) = flavours.iter().find(|flavour| flavour.players != flavours[0].players) {
            bail!(
                "{} cannot be trained together with {}, which has another number of players",
                other.id,
                flavours[0].id
            )
        }
        Ok(Self::Atari(flavours))
    }

    /// Returns the games in the flavours that settings select.
    pub(super) fn with(self, settings: &EnvironmentSettings) -> Self {
        self.map(|flavour| flavour.with(settings))
    }

    /// Returns the games with another mode or difficulty, where one is given.
    pub(crate) fn in_mode(self, mode: Option<u32>, difficulty: Option<u32>) -> Self {
        let [mode, difficulty] = [mode, difficulty].map(|value| value.map(Drawn::Always));
        self.map(|flavour| flavour.in_mode(mode.clone(), difficulty.clone()))
    }

    fn map(self, change: impl Fn(Flavour) -> Flavour) -> Self {
        match self {
            Self::Atari(flavours) => Self::Atari(flavours.into_iter().map(change).collect()),
            Self::Tasks(_) => self,
        }
    }

    /// Returns those games that have one of these ids, in the order of the ids.
    pub(crate) fn only(&self, names: &[&str]) -> Self {
        match self {
            Self::Atari(_) => {
                Self::Atari(names.iter().filter_map(|name| self.flavour(name)).cloned().collect())
            }
            Self::Tasks(ids) => Self::Tasks(those_of(ids, names)),
        }
    }

    /// Returns the ids.
    pub(crate) fn names(&self) -> Vec<&'static str> {
        match self {
            Self::Atari(flavours) => flavours.iter().map(|flavour| flavour.id).collect(),
            Self::Tasks(ids) => ids.clone(),
        }
    }

    /// Returns the first game of several players.
    pub(crate) fn first_of_several_players(&self) -> Option<&'static str> {
        match self {
            Self::Atari(flavours) => {
                flavours.iter().find(|flavour| flavour.players > 1).map(|flavour| flavour.id)
            }
            Self::Tasks(_) => None,
        }
    }

    /// Returns an environment in Python if other tasks do not run in Python.
    pub(crate) fn python_task_among_others(&self) -> Option<&'static str> {
        let (in_python, others): (Vec<_>, Vec<_>) =
            self.names().into_iter().partition(|id| selection::is_in_python(id));
        in_python.first().copied().filter(|_| !others.is_empty())
    }

    /// Returns the [label](Flavour::label) of each game.
    pub(crate) fn labels(&self) -> Vec<String> {
        self.names().into_iter().map(|name| self.label(name)).collect()
    }

    /// Returns the [label](Flavour::label) of the game with an id.
    pub(crate) fn label(&self, name: &str) -> String {
        self.flavour(name).map_or_else(|| name.to_owned(), Flavour::label)
    }

    /// Returns the games as telemetry shows them.
    pub(crate) fn tracked(&self) -> Vec<TrackedGame> {
        let tracked = |id: &str| TrackedGame {
            id: id.to_owned(),
            label: self.label(id),
            published: self.flavour(id).and_then(Flavour::published),
        };
        self.names().into_iter().map(tracked).collect()
    }

    /// Returns the kind of the actions of a game. That of an environment in Python is known once it has been made.
    pub(super) fn action_kind(&self, id: &str) -> Option<ActionKind> {
        match self {
            Self::Atari(_) => Some(ActionKind::Discrete),
            Self::Tasks(_) => selection::spec(id).map(|spec| spec.action_kind),
        }
    }

    /// Returns the number of environments of all games.
    pub(super) fn num_envs(&self, settings: &EnvironmentSettings) -> usize {
        self.names().iter().fold(0, |sum, name| sum.saturating_add(settings.num_envs_of(name)))
    }

    /// Returns the score of an agent: the average over the games of its human-normalised mean returns, without the
    /// games that have no human-normalised score. If no game has one, the average of the returns themselves.
    pub(crate) fn score<'a>(&self, returns: impl IntoIterator<Item = (&'a str, f64)> + Clone) -> f64 {
        let normalised = self.normalised(returns.clone());
        if normalised.is_empty() {
            mean(returns.into_iter().map(|(_, value)| value))
        } else {
            mean(normalised)
        }
    }

    /// Returns the human-normalised scores of the games that have one.
    pub(crate) fn normalised<'a>(&self, scores: impl IntoIterator<Item = (&'a str, f64)>) -> Vec<f64> {
        scores.into_iter().filter_map(|(name, score)| self.human_normalised(name, score)).collect()
    }

    /// Returns a score on a scale from 0 for a random to 1 for a human player, if the scores of both are published for
    /// this flavour of the game.
    pub(crate) fn human_normalised(&self, name: &str, score: f64) -> Option<f64> {
        self.flavour(name)?.published()?.human_normalised(score)
    }

    /// Returns the highest possible score of a game, or the expected one of the best policy, if it is known for this
    /// flavour of the game.
    pub(crate) fn best_score(&self, name: &str) -> Option<f64> {
        match self {
            Self::Atari(_) => self.flavour(name)?.published()?.best_score,
            Self::Tasks(_) => selection::spec(name)?.best_return,
        }
    }

    /// Returns the flavour of the Atari game with an id.
    pub(crate) fn flavour(&self, name: &str) -> Option<&Flavour> {
        match self {
            Self::Atari(flavours) => flavours.iter().find(|flavour| flavour.id == name),
            Self::Tasks(_) => None,
        }
    }
}

/// Returns those ids that are among `names`, in the order of the names.
fn those_of(ids: &[&'static str], names: &[&str]) -> Vec<&'static str> {
    names.iter().filter_map(|name| ids.iter().find(|id| *id == name).copied()).collect()
}
