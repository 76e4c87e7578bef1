use std::fmt::Write;

use anyhow::Result;
use toml::Value;

use crate::config::{self, Experiment};
use crate::learner::Algorithm;
use crate::telemetry::{Hyperparameter, Media, Metric, Session};

/// Keys, and sections of keys, that do not influence what is learned.
const WITHOUT_INFLUENCE: [&str; 6] = [
    "experiment.device",
    "experiment.num_threads",
    "environments.halves",
    "evaluation",
    "checkpoints",
    "replay",
];
/// The first columns of the HPARAMS tab, besides the learning rate.
const FIRST: [&str; 4] =
    ["experiment.algorithm", "environments.games", "experiment.seed", "experiment.total_frames"];
/// The results in the HPARAMS tab, besides those of each game.
const RESULTS: [Metric; 4] =
    [Metric::HumanNormalisedMedian, Metric::EvaluationMedian, Metric::EvaluationIqm, Metric::Sps];
/// The results in the HPARAMS tab of each game.
const RESULTS_OF_GAME: [Metric; 2] = [Metric::RecentReturn, Metric::EvaluationReturn];
/// The largest number of games with results in the HPARAMS tab.
const GAMES: usize = 8;

/// Returns a table of every key with its value, in the format of `CleanRL`.
pub(super) fn text(experiment: &Experiment) -> Result<Media> {
    let mut markdown = "|param|value|\n|-|-|\n".to_owned();
    for (key, value) in config::values(&experiment.to_toml()?)? {
        // Writing to a string cannot fail.
        let _ = writeln!(markdown, "|{key}|{}|", value.to_string().replace('|', "\\|"));
    }
    Ok(Media::Text { tag: "hyperparameters".to_owned(), markdown })
}

/// Returns the hyperparameters for the HPARAMS tab.
pub(super) fn session(experiment: &Experiment) -> Result<Media> {
    let values = influential(experiment)?;
    let mut columns = values.clone();
    // An algorithm may not support the default game; the game of its first preset is one that it does.
    let of_algorithm = |algorithm| config::presets().iter().find(|preset| preset.algorithm == algorithm);
    for preset in Algorithm::ALL.iter().copied().filter_map(of_algorithm) {
        for column in influential(&config::from_preset(preset)?.resolve()?)? {
            if columns.iter().all(|(key, _)| *key != column.0) {
                columns.push(column);
            }
        }
    }
    let algorithm = experiment.run.algorithm;
    let learning_rate = format!("{algorithm}.{}", algorithm.descriptor().learning_rate);
    let first = FIRST.into_iter().map(str::to_owned).chain([learning_rate]).collect();
    Ok(Media::SessionStart(Session { columns, first, metrics: results(experiment), values }))
}

/// Returns the keys that influence learning, with their values.
fn influential(experiment: &Experiment) -> Result<Vec<(String, Hyperparameter)>> {
    let values = config::values(&experiment.to_toml()?)?.into_iter().filter(|(key, _)| influences(key));
    Ok(values.map(|(key, value)| (key, hyperparameter(&value))).collect())
}

/// Returns true if a key influences what is learned.
fn influences(key: &str) -> bool {
    let is_in = |other: &str| key == other || key.starts_with(&format!("{other}."));
    !WITHOUT_INFLUENCE.iter().any(|other| is_in(other))
}

fn hyperparameter(value: &Value) -> Hyperparameter {
    match value {
        Value::Integer(integer) => Hyperparameter::Number(*integer as f64),
        Value::Float(float) => Hyperparameter::Number(*float),
        Value::Boolean(truth) => Hyperparameter::Truth(*truth),
        Value::String(text) => Hyperparameter::Text(text.clone()),
        Value::Array(values) if values.iter().all(Value::is_str) => {
            let texts: Vec<&str> = values.iter().filter_map(Value::as_str).collect();
            Hyperparameter::Text(texts.join(","))
        }
        other => Hyperparameter::Text(other.to_string()),
    }
}

/// Returns the tags of the results of a run.
fn results(experiment: &Experiment) -> Vec<String> {
    let games = experiment.games.names();
    let of_game = |task: Option<&str>| RESULTS_OF_GAME.map(|metric| metric.tag(task));
    match games.as_slice() {
        [_] => of_game(None).into_iter().chain([Metric::Sps.tag(None)]).collect(),
        games => {
            let together = RESULTS.iter().map(|metric| metric.tag(None));
            together.chain(games.iter().take(GAMES).flat_map(|game| of_game(Some(game)))).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn experiment(text: &str) -> Experiment {
        config::from_toml(text).unwrap().resolve().unwrap()
    }

    #[test]
    fn every_key_has_a_row() {
        let Media::Text { markdown, .. } = text(&experiment("")).unwrap() else { unreachable!() };
        assert!(markdown.starts_with("|param|value|\n|-|-|\n"), "{markdown}");
        for row in ["|environments.games|[\"harvest\"]|\n", "|ppo.gamma|0.99|\n", "|experiment.seed|1|\n"] {
            assert!(markdown.contains(row), "{markdown}");
        }
    }

    fn keys(values: &[(String, Hyperparameter)]) -> Vec<String> {
        values.iter().map(|(key, _)| key.clone()).collect()
    }

    #[test]
    fn columns_are_those_of_all_algorithms_and_values_those_of_the_run() {
        let Media::SessionStart(session) = session(&experiment("[ppo]\ngamma = 0.9")).unwrap() else {
            unreachable!()
        };
        let columns = keys(&session.columns);
        assert!(session.first.iter().all(|key| columns.contains(key)), "{:?}", session.first);
        assert!(columns.contains(&"dqn.buffer_size".to_owned()) && columns.contains(&"ppo.gamma".to_owned()));
        assert!(!columns.iter().any(|key| key.starts_with("checkpoints") || key.contains("num_threads")));
        assert!(session.values.contains(&("ppo.gamma".to_owned(), Hyperparameter::Number(0.9))));
        assert!(!keys(&session.values).contains(&"dqn.buffer_size".to_owned()));
        assert_eq!(session.metrics, ["charts/recent_return", "evaluation/return", "charts/SPS"]);
    }

    #[test]
    fn the_results_of_several_games_are_aggregates_and_those_of_each() {
        let metrics = results(&experiment("[environments]\ngames = ['pong', 'qbert']"));
        assert!(metrics.contains(&"charts/human_normalised_median".to_owned()), "{metrics:?}");
        assert!(metrics.contains(&"evaluation/return/qbert".to_owned()), "{metrics:?}");
    }
}
