use ale::Game;
use anyhow::{Result, bail, ensure};
use rl_env::{Env, Space, nearest};

use super::sections::EnvironmentSettings;
use crate::learner::ActionKind;
use crate::selection;

/// The games of an experiment.
#[derive(Clone, Debug)]
pub(crate) enum Games {
    /// Atari games, each once.
    Atari(Vec<&'static Game>),
    /// Tasks of the registry, each once. They have no emulator: a frame is a step.
    Registered(Vec<&'static str>),
}

/// Fails unless a game with overrides is among the games of an experiment.
pub(super) fn check_override(name: &str, games: &[&str]) -> Result<()> {
    let suggestion = match nearest(name, games.iter().copied()).first() {
        Some(near) => format!("; did you mean {near}?"),
        None => String::new(),
    };
    ensure!(
        games.contains(&name),
        "environments.game.{name} is not possible: '{name}' is not among the games of the experiment{suggestion}"
    );
    Ok(())
}

impl Games {
    /// Returns the games that ids and sets select.
    pub(crate) fn resolve(names: &[String]) -> Result<Self> {
        ensure!(!names.is_empty(), "environments.games is empty; `ale-train games` lists all games");
        let ids = selection::expand(names.iter().map(String::as_str))?;
        let (atari, registered): (Vec<_>, Vec<_>) = ids.into_iter().partition(|id| ale::game(id).is_ok());
        match (atari.first(), registered.first()) {
            (Some(game), Some(task)) => {
                bail!(
                    "{task} cannot be trained together with {game}: the observations of {task} are not images"
                )
            }
            (None, _) => Ok(Self::Registered(registered)),
            (_, None) => Ok(Self::Atari(atari.into_iter().map(ale::game).collect::<Result<_, _>>()?)),
        }
    }

    /// Returns the ids.
    pub(crate) fn names(&self) -> Vec<&'static str> {
        match self {
            Self::Atari(games) => games.iter().map(|game| game.id).collect(),
            Self::Registered(ids) => ids.clone(),
        }
    }

    /// Returns true if actions are vectors of real numbers.
    pub(crate) fn have_continuous_actions(&self) -> bool {
        self.names().into_iter().any(|id| self.action_kind(id) == ActionKind::Continuous)
    }

    /// Returns the kind of the actions of a game.
    pub(super) fn action_kind(&self, id: &str) -> ActionKind {
        let is_continuous = match self {
            Self::Atari(_) => false,
            Self::Registered(_) if selection::is_mujoco_task(id) => true,
            Self::Registered(_) => {
                let env = selection::registry().make(id);
                env.is_ok_and(|env| matches!(env.action_space(), Space::Box { .. }))
            }
        };
        if is_continuous { ActionKind::Continuous } else { ActionKind::Discrete }
    }

    /// Returns the number of environments of all games.
    pub(super) fn num_envs(&self, settings: &EnvironmentSettings) -> usize {
        self.names().iter().fold(0, |sum, name| sum.saturating_add(settings.num_envs_of(name)))
    }

    /// Returns the score of an agent: the average over the games of its mean returns, human-normalised where possible.
    pub(crate) fn score<'a>(&self, returns: impl IntoIterator<Item = (&'a str, f64)>) -> f64 {
        let normalised = |(name, mean)| self.human_normalised(name, mean).unwrap_or(mean);
        let scores: Vec<f64> = returns.into_iter().map(normalised).collect();
        scores.iter().sum::<f64>() / scores.len() as f64
    }

    /// Returns a score on a scale from 0 for a random to 1 for a human player, if the scores of both are known.
    pub(crate) fn human_normalised(&self, name: &str, score: f64) -> Option<f64> {
        self.atari(name)?.human_normalised(score)
    }

    /// Returns the highest possible score of a game, or the expected one of the best policy, if it is known.
    pub(crate) fn best_score(&self, name: &str) -> Option<f64> {
        match self {
            Self::Atari(_) => self.atari(name)?.best_score,
            // One point for each step until the episode is truncated.
            Self::Registered(_) if name.starts_with("CartPole") => {
                selection::registry().spec(name).ok()?.max_episode_steps.map(f64::from)
            }
            Self::Registered(_) => toy_text::optimal_return(name),
        }
    }

    /// Returns the Atari game with an id.
    pub(super) fn atari(&self, name: &str) -> Option<&'static Game> {
        match self {
            Self::Atari(games) => games.iter().find(|game| game.id == name).copied(),
            Self::Registered(_) => None,
        }
    }
}
