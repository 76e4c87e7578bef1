//! The table at the end of a sweep.

use std::collections::BTreeSet;
use std::io::Write;

use anyhow::Result;

use super::SettingRuns;
use crate::config::Games;
use crate::report::RunHistory;
use crate::statistics::mean;
use crate::table;

/// The scale of the scores of a table.
#[derive(Debug, PartialEq)]
enum Scale {
    /// Mean returns.
    Return,
    /// Human-normalised scores of all games of a run, or of this number of them.
    HumanNormalised { games: Option<usize> },
}

impl Scale {
    /// Returns the scale on which all runs can be compared. It is human-normalised if every run has such a score of
    /// each of its games, or if all runs have one of the same games.
    fn common(runs: &[&Games]) -> Self {
        let sets: BTreeSet<_> = runs.iter().map(|games| normalised(games)).collect();
        let is_complete = |games: &&Games| normalised(games).len() == games.names().len();
        match sets.first() {
            Some(_) if runs.iter().all(is_complete) => Self::HumanNormalised { games: None },
            Some(same) if sets.len() == 1 && !same.is_empty() => {
                Self::HumanNormalised { games: Some(same.len()) }
            }
            _ => Self::Return,
        }
    }

    fn heading(&self) -> String {
        match self {
            Self::Return => "mean return".to_owned(),
            Self::HumanNormalised { games: None } => "human-normalised".to_owned(),
            Self::HumanNormalised { games: Some(games) } => format!("human-normalised, games: {games}"),
        }
    }

    /// Returns the mean over the games, or `None` if a game has no score yet.
    fn score(&self, run: &RunHistory) -> Option<f64> {
        let scores = run.scores()?;
        Some(match self {
            Self::Return => mean(scores.into_iter().map(|(_, score)| score)),
            Self::HumanNormalised { .. } => mean(run.games().normalised(scores)),
        })
    }
}

/// Returns the games of a run that have human-normalised scores.
fn normalised(games: &Games) -> BTreeSet<&'static str> {
    let names = games.names().into_iter();
    names.filter(|name| games.human_normalised(name, 0.0).is_some()).collect()
}

/// Prints settings with their completed runs, best first. Settings without a score come last.
pub(super) fn print(settings: &[SettingRuns], out: &mut impl Write) -> Result<()> {
    let games: Vec<&Games> =
        settings.iter().flat_map(|setting| &setting.runs).map(RunHistory::games).collect();
    let scale = Scale::common(&games);
    let scores = |runs: &[RunHistory]| runs.iter().filter_map(|run| scale.score(run)).collect();
    let mut rows: Vec<(&SettingRuns, Vec<f64>)> =
        settings.iter().map(|setting| (setting, scores(&setting.runs))).collect();
    rows.sort_by(|(_, a), (_, b)| sort_key(b).total_cmp(&sort_key(a)));
    let mut headings = vec!["setting".to_owned(), "seeds".to_owned(), scale.heading()];
    headings.extend(["lowest", "highest"].map(str::to_owned));
    let mut cells: Vec<Vec<String>> = rows.iter().map(|(setting, scores)| row(setting, scores)).collect();
    if settings.iter().any(|setting| setting.pruned > 0) {
        headings.push("ended early".to_owned());
        rows.iter().zip(&mut cells).for_each(|((setting, _), row)| row.push(setting.pruned.to_string()));
    }
    let headings: Vec<&str> = headings.iter().map(String::as_str).collect();
    table::print(&headings, &cells, out)
}

/// Returns the mean score, below all others if there is none.
fn sort_key(scores: &[f64]) -> f64 {
    if scores.is_empty() { f64::NEG_INFINITY } else { mean(scores.iter().copied()) }
}

fn row(setting: &SettingRuns, scores: &[f64]) -> Vec<String> {
    let extreme = |pick: fn(f64, f64) -> f64| scores.iter().copied().reduce(pick);
    let mean = (!scores.is_empty()).then(|| mean(scores.iter().copied()));
    let values = [mean, extreme(f64::min), extreme(f64::max)];
    [setting.setting.clone(), scores.len().to_string()].into_iter().chain(values.map(cell)).collect()
}

fn cell(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.3}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;

    fn games(names: &str, mode: &str) -> Games {
        let text = format!("[environments]\ngames = [{names}]\n{mode}");
        config::from_toml(&text).unwrap().resolve().unwrap().games
    }

    #[test]
    fn settings_are_ranked_on_a_scale_that_all_of_them_have() {
        let both = |mode| games("'pong', 'breakout'", mode);
        let other = "[environments.game.breakout]\nmode = 12";
        let (default_modes, other_mode) = (both(""), both(other));
        let (pong, cart_pole) = (games("'pong'", ""), games("'CartPole-v1'", ""));
        assert_eq!(Scale::common(&[&default_modes, &pong]), Scale::HumanNormalised { games: None });
        assert_eq!(Scale::common(&[&other_mode, &other_mode]), Scale::HumanNormalised { games: Some(1) });
        for mixed in [&[&default_modes, &other_mode][..], &[&games("'breakout'", other)], &[&cart_pole], &[]]
        {
            assert_eq!(Scale::common(mixed), Scale::Return, "{mixed:?}");
        }
    }
}
