//! Earlier versions of the agent, and the ratings of all of them.

use std::collections::VecDeque;

use algorithms::VectorSpec;
use algorithms::networks::{NamedWeights, TrainedNetwork};
use anyhow::{Context, Result};
use rl_env::Batch;
use serde::{Deserialize, Serialize};

use super::agents::AgentSettings;
use crate::learner::Player;

/// The rating of the agent before training.
const FIRST_RATING: f64 = 1000.0;
/// The difference of ratings at which the stronger one of two wins ten times as often (Elo, 1978).
const SCALE: f64 = 400.0;
/// The largest change of a rating by one game.
const STEP: f64 = 16.0;
/// The number of games in the win rate.
const RECENT_GAMES: usize = 100;

/// The networks of the versions in their environments.
pub(super) struct Networks {
    pub(super) agents: AgentSettings,
    /// The environments of the opponents.
    pub(super) spec: VectorSpec,
}

impl Networks {
    fn player(&self, network: &TrainedNetwork) -> Result<Box<dyn Player>> {
        self.agents.player(network, &self.spec)
    }
}

/// A version of the agent.
#[derive(Serialize, Deserialize)]
struct Version {
    /// The number of frames of its training.
    frames: u64,
    /// Its rating in each task, which never changes.
    ratings: Vec<f64>,
    /// The description of the network as JSON.
    description: String,
    weights: Vec<NamedWeights>,
    #[serde(skip)]
    player: Option<Box<dyn Player>>,
}

/// The agent's results in a task.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Standing {
    pub(super) rating: f64,
    /// The results of the last games against earlier versions: 1 for a win, 0.5 for a draw, 0 for a loss.
    recent: VecDeque<f64>,
}

impl Standing {
    /// Returns the mean result of the last games.
    pub(super) fn win_rate(&self) -> Option<f64> {
        let games = self.recent.len();
        (games > 0).then(|| self.recent.iter().sum::<f64>() / games as f64)
    }

    fn count(&mut self, result: f64, opponent: f64) {
        let expected = 1.0 / (1.0 + 10_f64.powf((opponent - self.rating) / SCALE));
        self.rating += STEP * (result - expected);
        if self.recent.len() == RECENT_GAMES {
            self.recent.pop_front();
        }
        self.recent.push_back(result);
    }
}

/// The versions in the order of their training.
#[derive(Serialize, Deserialize)]
pub(super) struct Versions {
    versions: Vec<Version>,
    /// The standing of the agent in each task.
    pub(super) standings: Vec<Standing>,
}

impl Versions {
    pub(super) fn new(num_tasks: usize) -> Self {
        let standing = Standing { rating: FIRST_RATING, recent: VecDeque::new() };
        Self { versions: Vec::new(), standings: vec![standing; num_tasks] }
    }

    pub(super) fn len(&self) -> usize {
        self.versions.len()
    }

    /// Returns true if no version has been added since `interval` frames.
    pub(super) fn is_due(&self, frames: u64, interval: u64) -> bool {
        self.versions.last().is_none_or(|last| frames >= last.frames.saturating_add(interval))
    }

    /// Adds the agent after `frames` frames, with its current ratings. If there are more than `most` versions then,
    /// removes one and returns its index.
    pub(super) fn add(
        &mut self,
        frames: u64,
        network: TrainedNetwork,
        most: usize,
        networks: &Networks,
    ) -> Result<Option<usize>> {
        let player = Some(networks.player(&network)?);
        let ratings = self.standings.iter().map(|standing| standing.rating).collect();
        let description = serde_json::to_string(&network.description)?;
        self.versions.push(Version { frames, ratings, description, weights: network.weights, player });
        let removed = (self.versions.len() > most).then(|| self.most_redundant());
        if let Some(removed) = removed {
            self.versions.remove(removed);
        }
        Ok(removed)
    }

    /// Returns the version without which the others are spread most evenly, neither the first nor the last one.
    fn most_redundant(&self) -> usize {
        let gap = |&index: &usize| self.versions[index + 1].frames - self.versions[index - 1].frames;
        (1..self.versions.len() - 1).min_by_key(gap).unwrap_or(0)
    }

    /// Counts a game of the agent against a version.
    pub(super) fn count(&mut self, task: usize, version: usize, result: f64) {
        let opponent = self.versions[version].ratings[task];
        self.standings[task].count(result, opponent);
    }

    /// Returns an action of a version for each row of a batch. Random numbers follow from `seed`.
    pub(super) fn act(&mut self, version: usize, batch: &Batch, seed: u64) -> Result<Vec<i32>> {
        let player = self.versions[version].player.as_mut().context("the version has not been restored")?;
        player.reseed(seed);
        let actions = player.act(batch)?;
        Ok(actions.discrete().context("opponents need discrete actions")?.to_vec())
    }

    /// Makes the players of versions that have been read from a checkpoint.
    pub(super) fn restore(&mut self, networks: &Networks) -> Result<()> {
        for version in &mut self.versions {
            let description = serde_json::from_str(&version.description)?;
            let network = TrainedNetwork { description, weights: version.weights.clone() };
            version.player = Some(networks.player(&network)?);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(frames: u64) -> Version {
        let description = String::new();
        Version { frames, ratings: vec![FIRST_RATING], description, weights: Vec::new(), player: None }
    }

    #[test]
    fn ratings_follow_elo() {
        let mut versions = Versions { versions: vec![version(0)], ..Versions::new(1) };
        assert_eq!(versions.standings[0].win_rate(), None);
        versions.count(0, 0, 1.0);
        // Equal players are expected to win half of their games.
        assert_eq!(versions.standings[0].rating, 1008.0);
        versions.versions[0].ratings = vec![1408.0];
        versions.count(0, 0, 0.0);
        // The weaker one by 400 is expected to win one of eleven games.
        assert!((versions.standings[0].rating - (1008.0 - 16.0 / 11.0)).abs() < 1e-9);
        versions.count(0, 0, 0.5);
        assert_eq!(versions.standings[0].win_rate(), Some(0.5));
        (0..RECENT_GAMES).for_each(|_| versions.count(0, 0, 1.0));
        assert_eq!(versions.standings[0].win_rate(), Some(1.0), "only the last games count");
    }

    #[test]
    fn the_kept_versions_are_spread_over_the_training() {
        let mut versions = Versions::new(1);
        for frames in 0..=32 {
            assert!(
                versions.is_due(frames * 10, 10) && !versions.is_due((frames * 10).saturating_sub(1), 10)
                    || frames == 0
            );
            versions.versions.push(version(frames * 10));
            if versions.len() > 5 {
                let redundant = versions.most_redundant();
                versions.versions.remove(redundant);
            }
        }
        let frames: Vec<u64> = versions.versions.iter().map(|version| version.frames).collect();
        assert_eq!((frames[0], frames[4]), (0, 320));
        assert!(frames.windows(2).all(|pair| pair[1] - pair[0] <= 160), "{frames:?}");
    }
}
