//! The published scores in `benches/reference_scores.toml`, with their sources.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use serde::Deserialize;

/// The published scores, embedded in the program.
pub(super) static PUBLISHED: LazyLock<Published> = LazyLock::new(|| {
    toml::from_str(include_str!("../../benches/reference_scores.toml")).expect("a test reads the file")
});

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Published {
    columns: Vec<Column>,
    /// Maps a game and the id of a column to a score.
    scores: BTreeMap<String, BTreeMap<String, f64>>,
}

/// An agent and the source of its scores.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Column {
    id: String,
    pub(super) name: String,
    pub(super) protocol: String,
    pub(super) found: String,
}

impl Published {
    /// Returns the columns with a score in any of the games.
    pub(super) fn columns(&self, games: &BTreeSet<&str>) -> Vec<&Column> {
        let known = |column: &&Column| games.iter().any(|game| self.score(column, game).is_some());
        self.columns.iter().filter(known).collect()
    }

    /// Returns the score of an agent in a game.
    pub(super) fn score(&self, column: &Column, game: &str) -> Option<f64> {
        self.scores.get(game)?.get(&column.id).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_score_has_a_known_game_and_a_source() {
        let ids: Vec<&str> = PUBLISHED.columns.iter().map(|column| column.id.as_str()).collect();
        for (game, scores) in &PUBLISHED.scores {
            let game = ale::game(game).expect("a game");
            assert!(game.random_score.is_some() && game.human_score.is_some(), "{}", game.id);
            assert!(scores.keys().all(|column| ids.contains(&column.as_str())), "{}", game.id);
        }
        for column in &PUBLISHED.columns {
            let count = PUBLISHED.scores.values().filter(|scores| scores.contains_key(&column.id)).count();
            assert!(
                count >= 49 && !column.protocol.is_empty() && !column.found.is_empty(),
                "{}",
                column.name
            );
        }
    }

    #[test]
    fn columns_without_scores_are_hidden() {
        let names = |games: &[&str]| -> Vec<&str> {
            let games = games.iter().copied().collect();
            PUBLISHED.columns(&games).iter().map(|column| column.name.as_str()).collect()
        };
        assert_eq!(names(&["pong", "harvest"]).len(), 4);
        assert_eq!(
            names(&["surround"]),
            ["PPO, CleanRL", "PPO, OpenAI Baselines", "Rainbow, Hessel et al. 2018"]
        );
        assert!(names(&["harvest"]).is_empty());
    }
}
