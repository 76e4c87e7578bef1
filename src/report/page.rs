//! The report as a self-contained HTML page.

use std::collections::BTreeSet;
use std::fmt::Write;

use anyhow::Result;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::aggregate::Aggregate;
use super::chart;
use super::reference::{Column, PUBLISHED};
use super::runs::{Group, games};
use crate::plot;
use crate::statistics::mean;

const STYLE: &str = "\
body { font: 15px/1.5 system-ui, sans-serif; max-width: 1180px; margin: 2em auto; padding: 0 1em; color: #222; background: #fff }
h1, h2 { font-weight: 600 }
table { border-collapse: collapse; margin: 1em 0; font-variant-numeric: tabular-nums }
th, td { padding: .3em .8em; text-align: right; border-bottom: 1px solid #ddd; white-space: nowrap }
th { vertical-align: bottom; white-space: normal }
th:first-child, td:first-child, th.runs, td:has(.key) { text-align: left }
.wide { overflow-x: auto }
.curves { display: flex; flex-wrap: wrap; gap: 1em }
.curves svg { max-width: 100%; height: auto }
.key { display: inline-block; width: 1em; height: .6em; margin-right: .4em }
.note { color: #666; max-width: 50em }";

/// The heading of the column of groups.
const RUNS: &str = "runs";

/// Returns the page for these groups of runs.
pub(super) fn html(groups: &[Group]) -> Result<String> {
    let games = games(groups);
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>ale-train report</title>\n\
         <style>\n{STYLE}\n</style>\n</head>\n<body>\n<h1>ale-train report</h1>\n"
    );
    page.push_str(&overview(groups));
    page.push_str(&aggregates(groups, &games));
    page.push_str(&curves(groups)?);
    page.push_str(&scores(groups, &games));
    page.push_str("</body>\n</html>\n");
    Ok(page)
}

/// Returns the section with a chart per game.
fn curves(groups: &[Group]) -> Result<String> {
    let charts = chart::charts(groups);
    let svg = charts.iter().map(plot::svg).collect::<Result<String>>()?;
    if svg.is_empty() {
        return Ok("<p class=\"note\">No episode has finished yet.</p>\n".to_owned());
    }
    let several = groups.iter().any(|group| group.runs.len() > 1);
    let bands = if several {
        ", averaged over the runs of a group; the band spans its lowest and its highest run"
    } else {
        ""
    };
    let frames = if charts.len() > 1 { " Frames are summed over all games." } else { "" };
    Ok(format!(
        "<h2>Learning curves</h2>\n<p class=\"note\">Mean return of the last 100 episodes{bands}.{frames}</p>\n\
         <div class=\"curves\">\n{svg}</div>\n"
    ))
}

/// Returns the section on the groups: their colours, runs and speed.
fn overview(groups: &[Group]) -> String {
    let rows = groups.iter().enumerate().map(|(index, group)| {
        let runs = &group.runs;
        let mut seeds: Vec<u64> = runs.iter().map(|run| run.experiment.run.seed).collect();
        seeds.sort_unstable();
        let seeds = seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        let speeds: Vec<f64> = runs.iter().filter_map(|run| run.sps).collect();
        let speed = (!speeds.is_empty()).then(|| mean(speeds));
        let frames = mean(runs.iter().map(|run| run.frames));
        vec![name(index, group), runs.len().to_string(), seeds, number(Some(frames)), number(speed)]
    });
    format!("<h2>Runs</h2>\n{}", table(&[RUNS, "count", "seeds", "frames", "steps per second"], rows))
}

/// Returns the section on human-normalised scores: median, interquartile mean, mean and optimality gap.
fn aggregates(groups: &[Group], games: &BTreeSet<&str>) -> String {
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    let mut rows = Vec::new();
    for (index, group) in groups.iter().enumerate() {
        let scores = normalised(group, games);
        if scores.is_empty() {
            continue;
        }
        let several = scores.iter().any(|runs| runs.len() > 1);
        let cells = Aggregate::ALL.map(|aggregate| {
            let value = aggregate.of(&scores);
            if !several {
                return format!("{value:.3}");
            }
            let (low, high) = aggregate.interval(&scores, &mut rng);
            format!("{value:.3} [{low:.3}, {high:.3}]")
        });
        rows.push([vec![name(index, group)], cells.to_vec()].concat());
    }
    if rows.is_empty() {
        return String::new();
    }
    rows.extend(PUBLISHED.columns(games).into_iter().filter_map(|column| {
        let scores = published_scores(column, games)?;
        let cells = Aggregate::ALL.map(|aggregate| format!("{:.3}", aggregate.of(&scores)));
        Some([vec![escaped(&column.name)], cells.to_vec()].concat())
    }));
    let headings: Vec<&str> = [""].into_iter().chain(Aggregate::ALL.map(Aggregate::name)).collect();
    format!(
        "<h2>Human-normalised scores</h2>\n<p class=\"note\">0 is a random player, 1 a human player. Brackets show 95 % confidence \
         intervals from a bootstrap stratified by game; they require several runs. Published agents are listed if they have scores in \
         all of these games.</p>\n{}",
        table(&headings, rows)
    )
}

/// Returns the human-normalised score of every run, for each game with reference scores.
fn normalised(group: &Group, games: &BTreeSet<&str>) -> Vec<Vec<f64>> {
    let of_game = |id: &&str| -> Option<Vec<f64>> {
        let game = ale::game(id).ok()?;
        group.scores(id).into_iter().map(|score| game.human_normalised(score)).collect()
    };
    games.iter().filter_map(of_game).filter(|runs| !runs.is_empty()).collect()
}

/// Returns the human-normalised scores of a published agent, or `None` if it lacks a game that has reference scores.
fn published_scores(column: &Column, games: &BTreeSet<&str>) -> Option<Vec<Vec<f64>>> {
    let with_references =
        games.iter().filter_map(|id| ale::game(id).ok().filter(|game| game.human_score.is_some()));
    let score = |game: &ale::Game| Some(vec![game.human_normalised(PUBLISHED.score(column, game.id)?)?]);
    with_references.map(score).collect()
}

/// Returns the section with the scores by game.
fn scores(groups: &[Group], games: &BTreeSet<&str>) -> String {
    let published = PUBLISHED.columns(games);
    let several = groups.iter().any(|group| group.runs.len() > 1);
    // Without reference scores, the columns for them are omitted.
    let scored = games.iter().any(|id| ale::game(id).is_ok_and(|game| game.human_score.is_some()));
    let mut rows = Vec::new();
    for id in games {
        let game = ale::game(id).ok();
        for (index, group) in groups.iter().enumerate() {
            let scores = group.scores(id);
            if scores.is_empty() {
                continue;
            }
            let mean = mean(scores.iter().copied());
            let normalised = game.and_then(|game| game.human_normalised(mean));
            let mut row = vec![escaped(id), name(index, group), number(Some(mean))];
            if several {
                let ends = [f64::min, f64::max].map(|pick| number(scores.iter().copied().reduce(pick)));
                row.extend([ends.join(" to "), scores.len().to_string()]);
            }
            if scored {
                row.push(normalised.map_or_else(|| "-".to_owned(), |score| format!("{score:.3}")));
                row.push(number(game.and_then(|game| game.random_score)));
                row.push(number(game.and_then(|game| game.human_score)));
            }
            row.extend(published.iter().map(|column| number(PUBLISHED.score(column, id))));
            rows.push(row);
        }
    }
    let mut headings = vec!["game", RUNS, "return"];
    if several {
        headings.extend(["lowest to highest", "count"]);
    }
    if scored {
        headings.extend(["human-normalised", "random", "human"]);
    }
    headings.extend(published.iter().map(|column| column.name.as_str()));
    format!(
        "<h2>Games</h2>\n<p class=\"note\">Mean return of the final evaluation, or of the last 100 episodes of a run without \
         one.</p>\n<div class=\"wide\">\n{}</div>\n{}",
        table(&headings, rows),
        sources(&published)
    )
}

/// Returns the sources of the published scores.
fn sources(published: &[&Column]) -> String {
    let source = |column: &&Column| {
        format!(
            "<li>{}: {}. From {}.</li>\n",
            escaped(&column.name),
            escaped(&column.protocol),
            escaped(&column.found)
        )
    };
    if published.is_empty() {
        return String::new();
    }
    format!(
        "<p class=\"note\">Published scores and their protocols, which differ:</p>\n<ul class=\"note\">\n{}</ul>\n",
        published.iter().map(source).collect::<String>()
    )
}

/// Returns the colour and label of a group.
fn name(index: usize, group: &Group) -> String {
    format!(
        "<span class=\"key\" style=\"background: {}\"></span>{}",
        chart::css_colour(index),
        escaped(&group.label)
    )
}

/// Returns a table. Its cells are HTML.
fn table(headings: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut html = String::from("<table>\n<tr>");
    // Writing to a string cannot fail.
    for heading in headings {
        let class = if *heading == RUNS { " class=\"runs\"" } else { "" };
        let _ = write!(html, "<th{class}>{heading}</th>");
    }
    html.push_str("</tr>\n");
    for row in rows {
        let _ = writeln!(html, "<tr><td>{}</td></tr>", row.join("</td><td>"));
    }
    html.push_str("</table>\n");
    html
}

/// Formats a score or a count: one decimal below a hundred, none and thousands separators above, a dash for `None`.
fn number(value: Option<f64>) -> String {
    let Some(value) = value else { return "-".to_owned() };
    if value.abs() < 100.0 {
        return format!("{value:.1}");
    }
    let digits = format!("{:.0}", value.abs());
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    if value < 0.0 { format!("-{grouped}") } else { grouped }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::super::runs::{GameHistory, RunHistory, grouped};
    use super::*;
    use crate::config;

    #[test]
    fn shows_published_scores_beside_those_of_a_run() {
        let experiment = config::from_toml("").unwrap().resolve().unwrap();
        let history = GameHistory { curve: vec![(4e6, -20.0)], evaluation: Some(14.6) };
        let games = [("pong".to_owned(), history)].into();
        let run = RunHistory { experiment, setting: String::new(), games, frames: 4e6, sps: None };
        let page = html(&grouped(vec![run]).unwrap()).unwrap();
        for row in [
            // Return, human-normalised, random, human; PPO twice, DQN, Rainbow.
            "14.6</td><td>1.000</td><td>-20.7</td><td>14.6</td><td>20.4</td><td>20.4</td><td>18.9</td><td>20.9</td>",
            // (18.9 + 20.7) / (14.6 + 20.7), and an optimality gap of 0.
            "DQN, Mnih et al. 2015</td><td>1.122</td><td>1.122</td><td>1.122</td><td>0.000</td>",
        ] {
            assert!(page.contains(row), "no '{row}' in {page}");
        }
        assert!(page.contains("github.com/pfnet/pfrl"), "a source: {page}");
    }

    #[test]
    fn numbers_have_decimals_only_below_a_hundred() {
        let shown =
            [0.04, -18.26, 99.94, 100.4, -999.6, 12_345.6, 3_778_458.33].map(|value| number(Some(value)));
        assert_eq!(shown, ["0.0", "-18.3", "99.9", "100", "-1,000", "12,346", "3,778,458"]);
        assert_eq!(number(None), "-");
    }
}
