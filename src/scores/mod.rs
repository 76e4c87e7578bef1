//! Scores of complete episodes.

mod final_scores;

use serde::{Deserialize, Serialize};

use crate::config::Games;
use crate::statistics::{median, standard_error};

pub(crate) use final_scores::FinalScores;

/// The episodes of a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Scores {
    /// The id of the game.
    #[serde(rename = "game")]
    pub(crate) task: String,
    /// The raw return of each episode, environment by environment.
    pub(crate) returns: Vec<f64>,
    /// The length of each episode in steps.
    pub(crate) lengths: Vec<u64>,
}

impl Scores {
    /// Returns true if there is an episode, and a length of every episode.
    fn is_intact(&self) -> bool {
        !self.returns.is_empty() && self.returns.len() == self.lengths.len()
    }

    /// Returns the mean return.
    pub(crate) fn mean(&self) -> f64 {
        self.returns.iter().sum::<f64>() / self.returns.len() as f64
    }

    /// Returns the median return.
    pub(crate) fn median(&self) -> f64 {
        median(self.returns.clone())
    }

    /// Returns the standard error of the mean, from the sample standard deviation; none for a single episode.
    pub(crate) fn standard_error(&self) -> Option<f64> {
        standard_error(&self.returns)
    }

    /// Returns the mean return on a scale from 0 for a random to 1 for a human player. There is none unless the scores
    /// of both are published for the flavour of the game.
    pub(crate) fn human_normalised(&self, games: &Games) -> Option<f64> {
        games.human_normalised(&self.task, self.mean())
    }
}
