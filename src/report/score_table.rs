//! The scores of a report for papers and programs: Markdown, CSV and JSON.

use std::collections::BTreeSet;
use std::fmt::Write;

use anyhow::Result;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

use super::aggregate::Aggregate;
use super::group::{Group, games};
use super::improvement::Improvement;
use super::published_scores::published_game;
use crate::cli::ScoreFormat;
use crate::statistics::{mean, standard_error};

/// The largest number of settings that are compared with each other: a table of more would be unreadable.
const MOST_COMPARED: usize = 12;

/// The scores of all settings.
#[derive(Debug, Serialize)]
pub(super) struct ScoreTable {
    pub(super) games: Vec<GameScores>,
    pub(super) settings: Vec<SettingScores>,
    /// The comparisons of each setting with each other one that shares games; none of many settings.
    pub(super) improvements: Vec<ProbabilityOfImprovement>,
}

/// The scores of the runs of a setting in a game.
#[derive(Debug, Serialize)]
pub(super) struct GameScores {
    pub(super) game: String,
    pub(super) setting: String,
    /// The mean return of each run.
    pub(super) runs: Vec<f64>,
    /// The number of runs whose training is not complete.
    pub(super) unfinished: usize,
    pub(super) mean: f64,
    /// That of the mean over several runs.
    standard_error: Option<f64>,
    pub(super) lowest: f64,
    pub(super) highest: f64,
    /// Of the mean.
    pub(super) human_normalised: Option<f64>,
    pub(super) random: Option<f64>,
    pub(super) human: Option<f64>,
}

/// The human-normalised scores of a setting over its games.
#[derive(Debug, Serialize)]
pub(super) struct SettingScores {
    pub(super) setting: String,
    algorithm: &'static str,
    /// The names of the runs.
    runs: Vec<String>,
    /// The number of games with a human-normalised score.
    pub(super) games: usize,
    /// None if no game has such a score.
    pub(super) statistics: Option<[Statistic; 4]>,
}

/// The probability that a run of a setting scores higher than one of another setting in the same game.
#[derive(Debug, Serialize)]
pub(super) struct ProbabilityOfImprovement {
    pub(super) setting: String,
    pub(super) over: String,
    /// The number of games in which both have scores.
    games: usize,
    #[serde(flatten)]
    pub(super) statistic: Statistic,
}

/// A statistic with its 95 % confidence interval, which needs several runs.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Statistic {
    name: &'static str,
    pub(super) value: f64,
    interval: Option<(f64, f64)>,
}

impl Statistic {
    /// Returns the value with its interval.
    pub(super) fn text(&self) -> String {
        let interval =
            self.interval.map_or_else(String::new, |(low, high)| format!(" [{low:.3}, {high:.3}]"));
        format!("{:.3}{interval}", self.value)
    }
}

impl ScoreTable {
    pub(super) fn of(groups: &[Group]) -> Self {
        let names = games(groups);
        let of_games =
            names.iter().flat_map(|game| groups.iter().filter_map(|group| game_scores(group, game)));
        let mut rng = ChaCha8Rng::seed_from_u64(0);
        let settings = groups.iter().map(|group| setting_scores(group, &names, &mut rng));
        let settings = settings.collect();
        Self { games: of_games.collect(), settings, improvements: improvements(groups, &mut rng) }
    }

    /// Returns the scores of a setting in a game.
    pub(super) fn score(&self, game: &str, setting: &str) -> Option<&GameScores> {
        self.games.iter().find(|row| row.game == game && row.setting == setting)
    }

    /// Returns the highest mean in a game, if there are several settings and all of their runs are complete.
    pub(super) fn best(&self, game: &str) -> Option<f64> {
        let mut rows = self.games.iter().filter(|row| row.game == game);
        let is_comparable = self.settings.len() > 1 && rows.clone().all(|row| row.unfinished == 0);
        rows.next()
            .filter(|_| is_comparable)
            .map(|first| rows.fold(first.mean, |best, row| best.max(row.mean)))
    }

    /// Returns the probability that a setting improves on another one.
    pub(super) fn improvement(&self, setting: &str, over: &str) -> Option<&Statistic> {
        let mut pairs = self.improvements.iter();
        pairs.find(|pair| pair.setting == setting && pair.over == over).map(|pair| &pair.statistic)
    }

    /// Returns the scores in a format.
    pub(super) fn text(&self, format: ScoreFormat) -> Result<String> {
        Ok(match format {
            ScoreFormat::Markdown => self.markdown(),
            ScoreFormat::Csv => self.csv(),
            ScoreFormat::Json => serde_json::to_string_pretty(self)? + "\n",
        })
    }

    /// Returns a line for each game and setting.
    fn csv(&self) -> String {
        let mut text =
            "game,setting,runs,unfinished,mean,standard_error,lowest,highest,human_normalised,random,human\n"
                .to_owned();
        for row in &self.games {
            let numbers = [
                Some(row.mean),
                row.standard_error,
                Some(row.lowest),
                Some(row.highest),
                row.human_normalised,
                row.random,
                row.human,
            ];
            let numbers = numbers.map(|number| number.map_or_else(String::new, |number| number.to_string()));
            let names = [&row.game, &row.setting].map(|name| quoted(name));
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "{},{},{},{}",
                names.join(","),
                row.runs.len(),
                row.unfinished,
                numbers.join(",")
            );
        }
        text
    }

    /// Returns a table with a row for each game and a column for each setting, with the best one in bold, and a row for
    /// each statistic. Means over several runs have their standard error and the number of runs.
    fn markdown(&self) -> String {
        let settings: Vec<&str> = self.settings.iter().map(|setting| setting.setting.as_str()).collect();
        let names = settings.iter().map(|setting| escaped(setting));
        let mut rows = vec![std::iter::once("game".to_owned()).chain(names).collect::<Vec<_>>().join(" | ")];
        rows.push(vec!["---"; settings.len() + 1].join(" | "));
        let names: BTreeSet<&str> = self.games.iter().map(|row| row.game.as_str()).collect();
        for game in names {
            let best = self.best(game);
            let cells = settings.iter().map(|setting| {
                let row = self.score(game, setting);
                row.map_or_else(String::new, |row| row.cell(best))
            });
            rows.push(std::iter::once(escaped(game)).chain(cells).collect::<Vec<_>>().join(" | "));
        }
        for (index, statistic) in Aggregate::ALL.into_iter().enumerate() {
            let cells: Vec<String> = self.settings.iter().map(|setting| setting.cell(index)).collect();
            if cells.iter().any(|cell| !cell.is_empty()) {
                rows.push(format!("{}, human-normalised | {}", statistic.name(), cells.join(" | ")));
            }
        }
        for over in settings.iter().filter(|over| self.improvements.iter().any(|pair| pair.over == **over)) {
            let cells = settings
                .iter()
                .map(|setting| self.improvement(setting, over).map_or_else(String::new, Statistic::text));
            let cells = cells.collect::<Vec<String>>().join(" | ");
            rows.push(format!("probability of improvement over {} | {cells}", escaped(over)));
        }
        let mut text = String::new();
        for row in rows {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "| {row} |");
        }
        text
    }
}

impl GameScores {
    /// Returns a cell of Markdown.
    fn cell(&self, best: Option<f64>) -> String {
        let mean = marked(digits(self.mean), best == Some(self.mean));
        let error =
            self.standard_error.map(|error| format!(" ± {} ({} runs)", digits(error), self.runs.len()));
        let unfinished = (self.unfinished > 0).then(|| format!(", {} unfinished", self.unfinished));
        [mean, error.unwrap_or_default(), unfinished.unwrap_or_default()].concat()
    }
}

impl SettingScores {
    fn cell(&self, statistic: usize) -> String {
        self.statistics.map_or_else(String::new, |all| all[statistic].text())
    }
}

fn game_scores(group: &Group, game: &str) -> Option<GameScores> {
    let runs = group.scores(game);
    let pick = |pick: fn(f64, f64) -> f64| runs.iter().copied().reduce(pick);
    let (lowest, highest) = (pick(f64::min)?, pick(f64::max)?);
    let mean = mean(runs.iter().copied());
    let published = published_game(game);
    Some(GameScores {
        game: game.to_owned(),
        setting: group.label.clone(),
        unfinished: group.unfinished(game),
        mean,
        standard_error: standard_error(&runs),
        lowest,
        highest,
        human_normalised: published.and_then(|game| game.human_normalised(mean)),
        random: published.and_then(|game| game.random_score),
        human: published.and_then(|game| game.human_score),
        runs,
    })
}

fn setting_scores(group: &Group, games: &BTreeSet<&str>, rng: &mut ChaCha8Rng) -> SettingScores {
    let normalised = games.iter().filter_map(|game| normalised(group, game));
    let scores: Vec<Vec<f64>> = normalised.filter(|runs| !runs.is_empty()).collect();
    let has_several = scores.iter().any(|runs| runs.len() > 1);
    let mut statistic = |aggregate: Aggregate| Statistic {
        name: aggregate.name(),
        value: aggregate.compute(&scores),
        interval: has_several.then(|| aggregate.interval(&scores, rng)),
    };
    SettingScores {
        setting: group.label.clone(),
        algorithm: group.algorithm(),
        runs: group.runs.iter().map(|run| run.name.clone()).collect(),
        games: scores.len(),
        statistics: (!scores.is_empty()).then(|| Aggregate::ALL.map(&mut statistic)),
    }
}

/// Returns the human-normalised score of every run in a game, if the game has reference scores.
fn normalised(group: &Group, game: &str) -> Option<Vec<f64>> {
    let published = published_game(game)?;
    group.scores(game).into_iter().map(|score| published.human_normalised(score)).collect()
}

/// Compares each pair of settings, in both directions.
fn improvements(groups: &[Group], rng: &mut ChaCha8Rng) -> Vec<ProbabilityOfImprovement> {
    if groups.len() > MOST_COMPARED {
        return Vec::new();
    }
    let pairs = groups.iter().flat_map(|group| groups.iter().map(move |over| (group, over)));
    let others = pairs.filter(|(group, over)| !std::ptr::eq(*group, *over));
    others.filter_map(|(group, over)| improvement(group, over, rng)).collect()
}

/// Compares two settings in the games in which both have scores, if there are any.
fn improvement(group: &Group, over: &Group, rng: &mut ChaCha8Rng) -> Option<ProbabilityOfImprovement> {
    let games = group.games().into_iter().map(|game| (group.scores(game), over.scores(game)));
    let (first, second): (Vec<_>, Vec<_>) =
        games.filter(|(first, second)| !first.is_empty() && !second.is_empty()).unzip();
    if first.is_empty() {
        return None;
    }
    let has_several = [&first, &second].iter().all(|scores| scores.iter().any(|runs| runs.len() > 1));
    let compared = Improvement::new(&first, &second);
    let statistic = Statistic {
        name: "probability of improvement",
        value: compared.probability(),
        interval: has_several.then(|| compared.interval(rng)),
    };
    let (setting, over) = (group.label.clone(), over.label.clone());
    Some(ProbabilityOfImprovement { setting, over, games: first.len(), statistic })
}

/// Formats a score: one decimal below a hundred, none above.
fn digits(score: f64) -> String {
    if score.abs() < 100.0 { format!("{score:.1}") } else { format!("{score:.0}") }
}

fn marked(text: String, is_best: bool) -> String {
    if is_best { format!("**{text}**") } else { text }
}

/// Returns a name in a cell of Markdown.
fn escaped(name: &str) -> String {
    name.replace('|', "\\|")
}

/// Returns a field of CSV in quotes if it needs them (RFC 4180).
fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) {
        return format!("\"{}\"", field.replace('"', "\"\""));
    }
    field.to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::groups::grouped;
    use super::super::testing::finished_run;
    use super::*;

    fn table() -> ScoreTable {
        ScoreTable::of(&groups())
    }

    fn groups() -> Vec<Group> {
        let scored = |name: &str, config: &str, pong: f64, boxing: Option<f64>| {
            let config = format!("[experiment]\n{config}\n[environments]\ngames = ['pong', 'boxing']");
            let mut run = finished_run(name, &config);
            run.games.get_mut("pong").unwrap().evaluation = Some(pong);
            run.games.get_mut("boxing").unwrap().evaluation = boxing;
            run
        };
        let runs = vec![
            scored("one", "seed = 1", 14.6, Some(12.1)),
            scored("two", "seed = 2", -20.7, Some(0.1)),
            scored("other", "total_frames = 50_000", 1.0, None),
        ];
        grouped(runs)
    }

    #[test]
    fn every_game_and_setting_has_a_line_of_csv() {
        let csv = table().csv();
        let lines: Vec<&str> = csv.lines().collect();
        assert_eq!(lines.len(), 4, "{csv}");
        let pong = lines.iter().find(|line| line.starts_with("pong,") && line.contains(",2,")).unwrap();
        let numbers: Vec<&str> = pong.rsplitn(9, ',').collect();
        assert_eq!(numbers[..2], ["14.6", "-20.7"], "human and random: {pong}");
        // Half of the difference of two runs.
        assert!((numbers[5].parse::<f64>().unwrap() - f64::midpoint(14.6, 20.7)).abs() < 1e-9, "{pong}");
        assert_eq!(numbers[7], "0", "unfinished: {pong}");
        assert!((numbers[6].parse::<f64>().unwrap() - (14.6 - 20.7) / 2.0).abs() < 1e-9, "{pong}");
        assert_eq!(
            [quoted("a, b"), quoted("say \"x\""), quoted("plain")],
            ["\"a, b\"", "\"say \"\"x\"\"\"", "plain"]
        );
    }

    #[test]
    fn the_best_setting_of_a_game_is_bold() {
        let markdown = table().markdown();
        let row = |name: &str| {
            markdown.lines().find(|line| line.starts_with(&format!("| {name}"))).unwrap().to_owned()
        };
        // A mean of -3.05 and 1.
        assert!(
            row("pong").contains("**1.0** |") && row("pong").contains("-3.0 ± 17.6 (2 runs)"),
            "{markdown}"
        );
        assert!(row("boxing").contains("**6.1**"), "{markdown}");
        assert!(row("IQM, human-normalised").contains('['), "{markdown}");
        // In pong, the runs at 14.6 and -20.7 win one of two comparisons with 1; boxing has scores of one setting only.
        let comparison = markdown
            .lines()
            .find(|line| line.contains("improvement over") && line.contains("0.500"))
            .unwrap();
        // One setting has a single run, so there is no interval.
        assert!(comparison.contains(" | 0.500 |"), "{markdown}");
        let columns: BTreeSet<usize> = markdown.lines().map(|line| line.matches(" | ").count()).collect();
        assert_eq!(columns.len(), 1, "{markdown}");
    }

    #[test]
    fn unfinished_runs_are_marked_and_nothing_is_bold_beside_them() {
        let mut groups = groups();
        groups[0].runs[0].reached.updates = 0;
        let markdown = ScoreTable::of(&groups).markdown();
        assert!(!markdown.contains("**") && markdown.contains(", 1 unfinished"), "{markdown}");
    }

    #[test]
    fn json_has_the_scores_of_single_runs_and_intervals() {
        let json: serde_json::Value =
            serde_json::from_str(&table().text(ScoreFormat::Json).unwrap()).unwrap();
        let rows = json["games"].as_array().unwrap();
        assert!(
            rows.iter().any(|row| row["game"] == "pong" && row["runs"] == serde_json::json!([14.6, -20.7]))
        );
        let setting =
            json["settings"].as_array().unwrap().iter().find(|setting| setting["games"] == 2).unwrap();
        assert_eq!(setting["runs"], serde_json::json!(["one", "two"]));
        let median = &setting["statistics"][0];
        assert_eq!(median["name"], "median");
        assert!((median["value"].as_f64().unwrap() - 0.5).abs() < 1e-9, "{median}");
        assert!(median["interval"][0].as_f64().unwrap() < 0.5);
        let improvements = json["improvements"].as_array().unwrap();
        assert_eq!(improvements.len(), 2);
        assert_eq!((&improvements[0]["games"], &improvements[0]["value"]), (&1.into(), &0.5.into()));
    }
}
