//! The published scores in `benches/reference_scores.toml`, with their sources.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use serde::Deserialize;

/// The published scores, embedded in the program.
pub(super) static PUBLISHED: LazyLock<Published> = LazyLock::new(|| {
    toml::from_str(include_str!("../../benches/reference_scores.toml")).expect("a test reads the file")
});

/// The contents of the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Published {
    columns: Vec<Column>,
    /// Maps a game and the id of a column to a score.
    scores: BTreeMap<String, BTreeMap<String, f64>>,
    /// Maps a game and the id of a column to the standard deviation of the score over seeds.
    deviations: BTreeMap<String, BTreeMap<String, f64>>,
}

/// An agent and the source of its scores.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Column {
    id: String,
    pub(super) name: String,
    pub(super) protocol: String,
    /// Where the scores were found.
    #[serde(rename = "found")]
    pub(super) source: String,
}

/// Returns the game whose published scores apply to a [label](crate::config::Games::label). The label of a game in
/// another mode is not the id of a game.
pub(super) fn published_game(label: &str) -> Option<&'static ale::Game> {
    ale::game(label).ok()
}

impl Published {
    /// Returns the columns with a score in any of the games.
    pub(super) fn columns(&self, games: &BTreeSet<&str>) -> Vec<&Column> {
        let has_score = |column: &&Column| games.iter().any(|game| self.score(column, game).is_some());
        self.columns.iter().filter(has_score).collect()
    }

    /// Returns the score of an agent in a game.
    pub(super) fn score(&self, column: &Column, game: &str) -> Option<f64> {
        self.scores.get(game)?.get(&column.id).copied()
    }

    /// Returns the standard deviation over seeds of the score of an agent in a game.
    pub(super) fn deviation(&self, column: &Column, game: &str) -> Option<f64> {
        self.deviations.get(game)?.get(&column.id).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::selection;

    #[test]
    fn every_score_has_a_known_game_and_a_source() {
        let mujoco_columns = ["ppo_continuous_cleanrl", "sac_cleanrl"];
        let ids: Vec<&str> = PUBLISHED.columns.iter().map(|column| column.id.as_str()).collect();
        for (id, scores) in &PUBLISHED.scores {
            let is_task = selection::family(id) == Some(mujoco::FAMILY);
            let has_references = |game: &ale::Game| game.random_score.is_some() && game.human_score.is_some();
            assert!(is_task || ale::game(id).is_ok_and(has_references), "{id}");
            for column in scores.keys().map(String::as_str) {
                assert!(ids.contains(&column), "{id}: {column}");
                assert_eq!(mujoco_columns.contains(&column), is_task, "{id}: {column}");
            }
        }
        for column in &PUBLISHED.columns {
            let count = PUBLISHED.scores.values().filter(|scores| scores.contains_key(&column.id)).count();
            let expected = match column.id.as_str() {
                id if mujoco_columns.contains(&id) => 6,
                // The games of Atari 100k.
                "der" | "otrainbow" | "drq" => 26,
                "ppo_atari_cleanrl" => 3,
                _ => 49,
            };
            assert!(count >= expected, "{}: {count}", column.name);
            assert!(!column.protocol.is_empty() && !column.source.is_empty(), "{}", column.name);
        }
        for (id, deviations) in &PUBLISHED.deviations {
            assert!(deviations.keys().all(|column| PUBLISHED.scores[id].contains_key(column)), "{id}");
        }
    }

    /// Returns the names of the columns with a score in any of the games.
    fn names(games: &[&str]) -> Vec<&'static str> {
        let games = games.iter().copied().collect();
        PUBLISHED.columns(&games).iter().map(|column| column.name.as_str()).collect()
    }

    #[test]
    fn columns_without_scores_are_hidden() {
        assert_eq!(names(&["pong", "harvest"]).len(), 8);
        assert_eq!(
            names(&["surround"]),
            ["PPO, CleanRL", "PPO, OpenAI Baselines", "Rainbow, Hessel et al. 2018"]
        );
        assert_eq!(names(&["Hopper-v5"]), ["PPO on v4, CleanRL", "SAC on v4, CleanRL"]);
        assert!(names(&["harvest"]).is_empty());
    }
}
