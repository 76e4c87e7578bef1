use std::collections::BTreeSet;

use super::curve::{self, Band};
use super::runs::{RunHistory, Settings};

/// Runs of the same experiment with several seeds, or of a separate run for each of several games.
pub(super) struct Group {
    /// A short label: the algorithm and the keys in which the groups differ.
    pub(super) label: String,
    /// The settings that the runs share.
    pub(super) settings: Settings,
    pub(super) runs: Vec<RunHistory>,
}

impl Group {
    /// Returns the name of the algorithm.
    pub(super) fn algorithm(&self) -> &'static str {
        self.runs[0].experiment.run.algorithm.descriptor().title
    }

    /// Returns the games of all runs, sorted.
    pub(super) fn games(&self) -> BTreeSet<&str> {
        self.runs.iter().flat_map(|run| run.games.keys().map(String::as_str)).collect()
    }

    /// Returns true if some run plays a game.
    pub(super) fn plays(&self, game: &str) -> bool {
        self.runs.iter().any(|run| run.games.contains_key(game))
    }

    /// Returns true if some run plays a game, and none has finished an episode of it.
    pub(super) fn waits_for_episode(&self, game: &str) -> bool {
        let mut histories = self.runs.iter().filter_map(|run| run.games.get(game));
        self.plays(game) && histories.all(|history| history.curve.last().is_none())
    }

    /// Returns the scores in a game of all runs that have one.
    pub(super) fn scores(&self, game: &str) -> Vec<f64> {
        self.runs.iter().filter_map(|run| run.games.get(game)?.score()).collect()
    }

    /// Returns the number of runs with a score in a game whose training is not complete.
    pub(super) fn unfinished(&self, game: &str) -> usize {
        let has_score =
            |run: &&RunHistory| run.games.get(game).is_some_and(|history| history.score().is_some());
        let runs = self.runs.iter().filter(has_score);
        runs.filter(|run| !run.experiment.is_complete(&run.reached)).count()
    }

    /// Returns the learning curve of a game over the runs.
    pub(super) fn returns(&self, game: &str) -> Vec<Band> {
        curve::band(self.runs.iter().filter_map(|run| Some(&run.games.get(game)?.curve)))
    }

    /// Returns the curve of the evaluations in a game over the runs that were evaluated more than once.
    pub(super) fn evaluations(&self, game: &str) -> Vec<Band> {
        let curves = self.runs.iter().filter_map(|run| Some(&run.games.get(game)?.evaluations));
        curve::band(curves.filter(|curve| curve.is_line()))
    }

    /// Returns the curve of a tag of all games together, over the runs.
    pub(super) fn diagnostic(&self, tag: &str) -> Vec<Band> {
        curve::band(self.runs.iter().filter_map(|run| run.diagnostics.get(tag)))
    }
}

/// Returns the games of all groups, sorted.
pub(super) fn games(groups: &[Group]) -> BTreeSet<&str> {
    groups.iter().flat_map(Group::games).collect()
}

/// Names the games if they are few, or states their number.
pub(super) fn in_words(games: &BTreeSet<&str>) -> String {
    const FEW: usize = 6;
    let names: Vec<&str> = games.iter().copied().collect();
    if names.len() > FEW { format!("{} games", names.len()) } else { names.join(", ") }
}
