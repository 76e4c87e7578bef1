use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::{Map, Value};

use crate::checkpoint::CONFIG;
use crate::config::{self, Experiment};
use crate::statistics::mean;
use crate::telemetry::{METRICS_FILE, Metric};

/// The configuration and the curves of a run.
pub(crate) struct RunHistory {
    pub(super) experiment: Experiment,
    /// The configuration without the seed and the number of threads.
    pub(super) setting: String,
    /// The results by game.
    pub(super) games: BTreeMap<String, GameHistory>,
    /// Emulated frames at the end.
    pub(super) frames: f64,
    /// Steps per second at the end.
    pub(super) sps: Option<f64>,
}

/// The results of a run in one game.
#[derive(Default)]
pub(super) struct GameHistory {
    /// The emulated frames of all games, and the mean return of the last hundred episodes.
    pub(super) curve: Vec<(f64, f64)>,
    /// The mean return of the final evaluation.
    pub(super) evaluation: Option<f64>,
}

impl GameHistory {
    /// Returns the result of the final evaluation, or else the last point of the curve.
    pub(super) fn score(&self) -> Option<f64> {
        self.evaluation.or_else(|| self.curve.last().map(|&(_, value)| value))
    }
}

impl RunHistory {
    /// Reads the directory of a run.
    pub(crate) fn read(run_dir: &Path) -> Result<Self> {
        ensure!(run_dir.exists(), "there is no {}", run_dir.display());
        let unreadable = || format!("{} is not a readable run", run_dir.display());
        let text = fs::read_to_string(run_dir.join(CONFIG)).with_context(unreadable)?;
        let experiment =
            config::from_toml(&text).and_then(config::Config::resolve).with_context(unreadable)?;
        let metrics = fs::read_to_string(run_dir.join(METRICS_FILE)).with_context(unreadable)?;
        let names = experiment.games.names();
        let mut run = Self {
            setting: setting(&text).with_context(unreadable)?,
            games: names.iter().map(|&game| (game.to_owned(), GameHistory::default())).collect(),
            experiment,
            frames: 0.0,
            sps: None,
        };
        // The last line of a running run may be incomplete.
        for record in metrics.lines().filter_map(|line| serde_json::from_str::<Map<String, Value>>(line).ok())
        {
            run.add(&record);
        }
        Ok(run)
    }

    /// Returns the mean score over the games, human-normalised where possible, or `None` if a game has no score yet.
    pub(crate) fn score(&self) -> Option<f64> {
        let of_game = |(game, history): (&String, &GameHistory)| {
            let score = history.score()?;
            Some(self.experiment.games.human_normalised(game, score).unwrap_or(score))
        };
        let scores: Vec<f64> = self.games.iter().map(of_game).collect::<Option<_>>()?;
        Some(mean(scores))
    }

    fn add(&mut self, record: &Map<String, Value>) {
        let number = |tag: &str| record.get(tag).and_then(Value::as_f64);
        let single = self.games.len() == 1;
        let frames = number("frames").unwrap_or(0.0);
        self.frames = self.frames.max(frames);
        for (game, history) in &mut self.games {
            let task = (!single).then_some(game.as_str());
            if let Some(value) = number(&Metric::RecentReturn.tag(task)) {
                history.curve.push((frames, value));
            }
            history.evaluation = number(&Metric::EvaluationReturn.tag(task)).or(history.evaluation);
        }
        self.sps = number(&Metric::Sps.tag(None)).or(self.sps);
    }
}

/// Returns the configuration without its seed and number of threads.
fn setting(config: &str) -> Result<String> {
    let mut table: toml::Table = config.parse()?;
    if let Some(toml::Value::Table(experiment)) = table.get_mut("experiment") {
        experiment.remove("seed");
        experiment.remove("num_threads");
    }
    Ok(table.to_string())
}

/// Runs that differ only in their seeds.
pub(super) struct Group {
    /// The values of the keys in which the groups differ.
    pub(super) label: String,
    pub(super) runs: Vec<RunHistory>,
}

/// Groups runs by their configurations, in the given order.
pub(super) fn grouped(runs: Vec<RunHistory>) -> Result<Vec<Group>> {
    let mut groups: Vec<Group> = Vec::new();
    for run in runs {
        match groups.iter_mut().find(|group| group.runs[0].setting == run.setting) {
            Some(group) => group.runs.push(run),
            None => groups.push(Group { label: String::new(), runs: vec![run] }),
        }
    }
    let settings: Vec<String> = groups.iter().map(|group| group.runs[0].setting.clone()).collect();
    let mut varied: Vec<String> = Vec::new();
    for setting in &settings[1..] {
        varied.extend(config::changed_keys(&settings[0], setting)?);
    }
    varied.sort();
    varied.dedup();
    for (group, setting) in groups.iter_mut().zip(&settings) {
        group.label = label(setting, &varied)?;
    }
    Ok(groups)
}

/// Returns the values of the varied keys as text.
fn label(setting: &str, varied: &[String]) -> Result<String> {
    let values = config::values(setting)?;
    let value = |key: &String| {
        values.get(key).map_or_else(|| format!("no {key}"), |value| format!("{key} = {value}"))
    };
    let label = varied.iter().map(value).collect::<Vec<_>>().join(", ");
    Ok(if label.is_empty() { "all runs".to_owned() } else { label })
}

/// Returns the games of all groups, sorted.
pub(super) fn games(groups: &[Group]) -> BTreeSet<&str> {
    let runs = groups.iter().flat_map(|group| &group.runs);
    runs.flat_map(|run| run.games.keys().map(String::as_str)).collect()
}

impl Group {
    /// Returns the scores in a game of all runs that have one.
    pub(super) fn scores(&self, game: &str) -> Vec<f64> {
        self.runs.iter().filter_map(|run| run.games.get(game)?.score()).collect()
    }

    /// Returns the mean, lowest and highest values of the curves of a game on a common grid of frames.
    pub(super) fn curve(&self, game: &str) -> Vec<Band> {
        const POINTS: usize = 200;
        let curves = self.runs.iter().filter_map(|run| run.games.get(game));
        let curves: Vec<&[(f64, f64)]> =
            curves.map(|history| history.curve.as_slice()).filter(|curve| !curve.is_empty()).collect();
        if curves.is_empty() {
            return Vec::new();
        }
        // The range that every curve covers.
        let first = curves.iter().map(|curve| curve[0].0).fold(0.0, f64::max);
        let last = curves.iter().map(|curve| curve[curve.len() - 1].0).fold(f64::INFINITY, f64::min);
        let grid = (0..POINTS).map(|index| first + (last - first) * index as f64 / (POINTS - 1) as f64);
        grid.filter(|_| last >= first)
            .map(|frames| {
                let values: Vec<f64> = curves.iter().map(|curve| value_at(curve, frames)).collect();
                Band {
                    frames,
                    mean: mean(values.iter().copied()),
                    low: values.iter().copied().fold(f64::INFINITY, f64::min),
                    high: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
                }
            })
            .collect()
    }
}

/// A point of a learning curve over several runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Band {
    pub(super) frames: f64,
    pub(super) mean: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

/// Returns the last value of a curve at or before a number of frames.
fn value_at(curve: &[(f64, f64)], frames: f64) -> f64 {
    let after = curve.partition_point(|&(at, _)| at <= frames);
    curve[after.saturating_sub(1)].1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(setting: &str, curve: &[(f64, f64)], evaluation: Option<f64>) -> RunHistory {
        let experiment = config::from_toml("").unwrap().resolve().unwrap();
        let history = GameHistory { curve: curve.to_vec(), evaluation };
        let games = [("pong".to_owned(), history)].into();
        RunHistory { experiment, setting: setting.to_owned(), games, frames: 0.0, sps: None }
    }

    #[test]
    fn runs_are_grouped_by_their_settings() {
        let [low, high] = ["[ppo]\ngamma = 0.9", "[ppo]\ngamma = 0.99"];
        let runs = [low, high, low].map(|setting| run(setting, &[], None));
        let groups = grouped(runs.into()).unwrap();
        let labels: Vec<_> = groups.iter().map(|group| (group.label.as_str(), group.runs.len())).collect();
        assert_eq!(labels, [("ppo.gamma = 0.9", 2), ("ppo.gamma = 0.99", 1)]);
        assert_eq!(grouped(vec![run(low, &[], None)]).unwrap()[0].label, "all runs");
    }

    #[test]
    fn curves_share_a_grid_that_all_runs_cover() {
        let runs = vec![
            run("", &[(0.0, 1.0), (10.0, 3.0), (20.0, 5.0)], None),
            run("", &[(10.0, 7.0), (30.0, 9.0)], Some(4.0)),
        ];
        let group = Group { label: String::new(), runs };
        let curve = group.curve("pong");
        assert_eq!(curve[0], Band { frames: 10.0, mean: 5.0, low: 3.0, high: 7.0 });
        assert_eq!(*curve.last().unwrap(), Band { frames: 20.0, mean: 6.0, low: 5.0, high: 7.0 });
        assert_eq!(group.scores("pong"), [5.0, 4.0]);
        assert!(group.curve("qbert").is_empty());
    }
}
