//! The report as one HTML page without scripts, styles or pictures from elsewhere.

use std::collections::BTreeSet;
use std::fmt::Write;

use anyhow::Result;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::chart;
use super::runs::Group;
use super::statistics::{Aggregate, mean};

const STYLE: &str = "\
body { font: 15px/1.5 system-ui, sans-serif; max-width: 1180px; margin: 2em auto; padding: 0 1em; color: #222; background: #fff }
h1, h2 { font-weight: 600 }
table { border-collapse: collapse; margin: 1em 0 }
th, td { padding: .3em .8em; text-align: right; border-bottom: 1px solid #ddd }
th:first-child, td:first-child, td.group, th.group { text-align: left }
.curves { display: flex; flex-wrap: wrap; gap: 1em }
.key { display: inline-block; width: 1em; height: .6em; margin-right: .4em }
.note { color: #666 }";

/// The page for these groups of runs.
pub(super) fn html(groups: &[Group]) -> Result<String> {
    let games: BTreeSet<&str> = groups
        .iter()
        .flat_map(|group| group.runs.iter().flat_map(|run| run.games.keys().map(String::as_str)))
        .collect();
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>ale-train report</title>\n\
         <style>\n{STYLE}\n</style>\n</head>\n<body>\n<h1>ale-train report</h1>\n"
    );
    page.push_str(&overview(groups));
    page.push_str(&aggregates(groups, &games));
    page.push_str("<h2>Learning curves</h2>\n<p class=\"note\">Mean return of the last 100 episodes: the mean over the runs, in a \
                   band from the lowest run to the highest.</p>\n<div class=\"curves\">\n");
    for game in &games {
        let curves: Vec<_> = groups.iter().map(|group| group.curve(game)).collect();
        if curves.iter().any(|curve| !curve.is_empty()) {
            page.push_str(&chart::learning_curves(game, &curves)?);
        }
    }
    page.push_str("</div>\n");
    page.push_str(&scores(groups, &games));
    page.push_str("</body>\n</html>\n");
    Ok(page)
}

/// The groups with their colours, runs and speed.
fn overview(groups: &[Group]) -> String {
    let rows = groups.iter().enumerate().map(|(index, group)| {
        let runs = &group.runs;
        let mut seeds: Vec<u64> = runs.iter().map(|run| run.experiment.seed).collect();
        seeds.sort_unstable();
        let seeds = seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        let speeds: Vec<f64> = runs.iter().filter_map(|run| run.sps).collect();
        let speed = if speeds.is_empty() { "-".to_owned() } else { format!("{:.0}", mean(speeds)) };
        vec![name(index, group), runs.len().to_string(), seeds, speed]
    });
    format!("<h2>Runs</h2>\n{}", table(&["runs", "count", "seeds", "steps per second"], rows))
}

/// Median, interquartile mean, mean and optimality gap of the human-normalised scores.
fn aggregates(groups: &[Group], games: &BTreeSet<&str>) -> String {
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    let rows: Vec<Vec<String>> = groups
        .iter()
        .enumerate()
        .filter_map(|(index, group)| {
            let scores = normalised(group, games);
            let number = |aggregate: Aggregate| {
                let (low, high) = aggregate.interval(&scores, &mut rng);
                format!("{:.3} [{low:.3}, {high:.3}]", aggregate.of(&scores))
            };
            (!scores.is_empty())
                .then(|| [vec![name(index, group)], Aggregate::ALL.map(number).to_vec()].concat())
        })
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    let headings: Vec<&str> = [""].into_iter().chain(Aggregate::ALL.map(Aggregate::name)).collect();
    format!(
        "<h2>Human-normalised scores</h2>\n<p class=\"note\">0 is a random player, 1 a human one. In brackets 95 % confidence \
         intervals, by a bootstrap stratified by game over the runs; one run says nothing about others.</p>\n{}",
        table(&headings, rows)
    )
}

/// For each game with reference scores, the human-normalised score of every run.
fn normalised(group: &Group, games: &BTreeSet<&str>) -> Vec<Vec<f64>> {
    let of_game = |id: &&str| -> Option<Vec<f64>> {
        let game = ale::game(id).ok()?;
        group.scores(id).into_iter().map(|score| game.human_normalised(score)).collect()
    };
    games.iter().filter_map(of_game).filter(|runs| !runs.is_empty()).collect()
}

/// What every game was played like.
fn scores(groups: &[Group], games: &BTreeSet<&str>) -> String {
    let mut rows = Vec::new();
    for id in games {
        let game = ale::game(id).ok();
        let reference = |score: Option<f64>| score.map_or_else(|| "-".to_owned(), |score| score.to_string());
        for (index, group) in groups.iter().enumerate() {
            let scores = group.scores(id);
            if scores.is_empty() {
                continue;
            }
            let ends =
                [f64::min, f64::max].map(|pick| scores.iter().copied().reduce(pick).unwrap_or(f64::NAN));
            let mean = mean(scores.iter().copied());
            let normalised = game.and_then(|game| game.human_normalised(mean));
            rows.push(vec![
                escaped(id),
                name(index, group),
                scores.len().to_string(),
                format!("{mean:.1}"),
                format!("{:.1} to {:.1}", ends[0], ends[1]),
                reference(game.and_then(|game| game.random_score)),
                reference(game.and_then(|game| game.human_score)),
                normalised.map_or_else(|| "-".to_owned(), |score| format!("{score:.3}")),
            ]);
        }
    }
    let headings =
        ["game", "runs", "count", "return", "lowest to highest", "random", "human", "human-normalised"];
    format!(
        "<h2>Games</h2>\n<p class=\"note\">The mean return of the closing evaluation, or of the last 100 episodes of a run that \
         has none.</p>\n{}",
        table(&headings, rows)
    )
}

/// A group's colour and label.
fn name(index: usize, group: &Group) -> String {
    format!(
        "<span class=\"key\" style=\"background: {}\"></span>{}",
        chart::colour(index),
        escaped(&group.label)
    )
}

/// A table of cells that are HTML already.
fn table(headings: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut html = String::from("<table>\n<tr>");
    // Writing to a string cannot fail.
    for heading in headings {
        let _ = write!(html, "<th>{heading}</th>");
    }
    html.push_str("</tr>\n");
    for row in rows {
        let _ = writeln!(html, "<tr><td>{}</td></tr>", row.join("</td><td>"));
    }
    html.push_str("</table>\n");
    html
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
