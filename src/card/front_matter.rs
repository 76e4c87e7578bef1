//! The metadata of the Hub in YAML, of which JSON strings are a part.

use std::fmt::Write;

use serde_json::json;

use super::Card;
use crate::config::Games;
use crate::scores::{FinalScores, Scores};

/// The task in the vocabulary of the Hub.
const TASK: &str = "reinforcement-learning";
/// The name of the metric in the vocabulary of the Hub.
const METRIC: &str = "mean_reward";

impl Card<'_> {
    /// Returns the metadata, between lines of hyphens.
    pub(super) fn front_matter(&self) -> String {
        let mut text = "---\n".to_owned();
        if let Some(licence) = &self.licence {
            text += &field("license", &licence.id);
        }
        text += &field("library_name", env!("CARGO_PKG_NAME"));
        text += &field("pipeline_tag", TASK);
        text += "tags:\n";
        text.extend(self.tags().iter().map(|tag| format!("- {}\n", json!(tag))));
        if let Some(scores) = &self.agent.scores {
            text += &self.model_index(scores);
        }
        text + "---\n\n"
    }

    fn tags(&self) -> Vec<String> {
        let experiment = &self.agent.experiment;
        let family = match experiment.games {
            Games::Atari(_) => Some("atari"),
            Games::Tasks(_) => Some("gymnasium"),
        };
        let tags =
            [TASK, "deep-reinforcement-learning", experiment.run.algorithm.name()].into_iter().chain(family);
        let games = experiment.games.names().into_iter().map(dataset);
        tags.map(str::to_owned).chain(games).collect()
    }

    /// Returns the results: the mean score of each game with its standard error.
    fn model_index(&self, scores: &FinalScores) -> String {
        let mut text = format!("model-index:\n- name: {}\n  results:\n", json!(self.title));
        for of_game in &scores.agent {
            let dataset = json!(dataset(&of_game.task));
            let _ = write!(
                text,
                "  - task:\n      type: {TASK}\n      name: {TASK}\n    \
                 dataset:\n      name: {dataset}\n      type: {dataset}\n    \
                 metrics:\n    - type: {METRIC}\n      value: {}\n      name: {METRIC}\n      verified: false\n",
                json!(value(of_game))
            );
        }
        text
    }
}

fn field(key: &str, value: &str) -> String {
    format!("{key}: {}\n", json!(value))
}

/// Returns the name of a game in the vocabulary of the Hub: its id in Gymnasium, if it has one.
fn dataset(game: &str) -> String {
    ale::game(game).map_or_else(|_| game.to_owned(), ale::gymnasium_id)
}

/// Returns a mean with its standard error, as in `20.40 +/- 0.12`.
fn value(scores: &Scores) -> String {
    match scores.standard_error() {
        Some(error) => format!("{:.2} +/- {error:.2}", scores.mean()),
        None => format!("{:.2}", scores.mean()),
    }
}
