use std::collections::BTreeSet;

use super::super::aggregate::Aggregate;
use super::super::group::Group;
use super::super::html::{Table, escaped, format_number, name};
use super::super::published_scores::{Column, PUBLISHED, published_game};
use super::super::score_table::{GameScores, ScoreTable, Statistic};

/// Returns the section on human-normalised scores: median, interquartile mean, mean and optimality gap.
pub(super) fn aggregates(groups: &[Group], games: &BTreeSet<&str>, scores: &ScoreTable) -> String {
    let mut table = Table::new(["", "games"].into_iter().chain(Aggregate::ALL.map(Aggregate::name)), 1);
    for (index, (group, setting)) in groups.iter().zip(&scores.settings).enumerate() {
        let Some(statistics) = &setting.statistics else { continue };
        let cells = statistics.each_ref().map(interval);
        let games = number_of_games(setting.games, group);
        table.push([vec![name(index, group), games], cells.to_vec()].concat());
    }
    if table.is_empty() {
        return String::new();
    }
    for column in PUBLISHED.columns(games) {
        if let Some(scores) = published_scores(column, games) {
            let cells = Aggregate::ALL.map(|aggregate| format!("{:.3}", aggregate.compute(&scores)));
            table.push([vec![escaped(&column.name), scores.len().to_string()], cells.to_vec()].concat());
        }
    }
    format!(
        "<h2>Human-normalised scores</h2>\n<p class=\"note\">0 is a random player, 1 a human player. Brackets show 95 % confidence \
         intervals from a bootstrap stratified by game; they require several runs. Published agents are listed if they have scores in \
         all of these games.</p>\n{}",
        table.html()
    )
}

/// Returns the section with the comparison of each two settings; nothing if there are none.
pub(super) fn improvements(groups: &[Group], scores: &ScoreTable) -> String {
    if scores.improvements.is_empty() {
        return String::new();
    }
    let names = groups.iter().enumerate().map(|(index, group)| name(index, group));
    let headings = std::iter::once("higher than".to_owned()).chain(names.clone());
    let mut table = Table::new(headings, 1);
    for (name, group) in names.zip(groups) {
        let cells = groups.iter().map(|over| {
            scores.improvement(&group.label, &over.label).map_or_else(|| "-".to_owned(), interval)
        });
        table.push(std::iter::once(name).chain(cells).collect());
    }
    format!(
        "<h2>Probability of improvement</h2>\n<p class=\"note\">The probability that a run of a row scores higher than a run of a \
         column in the same game, averaged over the games of both. Brackets show 95 % confidence intervals; they require several runs of \
         both.</p>\n{}",
        table.html()
    )
}

/// Returns a statistic whose interval is not broken into lines.
fn interval(statistic: &Statistic) -> String {
    statistic.text().replace(", ", ",&nbsp;")
}

/// Returns the number of games with a human-normalised score, and of how many if not all games of a group have one.
fn number_of_games(normalised: usize, group: &Group) -> String {
    match group.games().len() {
        total if total == normalised => total.to_string(),
        total => format!("{normalised} of {total}"),
    }
}

/// Returns the human-normalised scores of a published agent, or `None` if it lacks a game that has reference scores.
fn published_scores(column: &Column, games: &BTreeSet<&str>) -> Option<Vec<Vec<f64>>> {
    let with_references =
        games.iter().filter_map(|label| published_game(label).filter(|game| game.human_score.is_some()));
    let score = |game: &ale::Game| Some(vec![game.human_normalised(PUBLISHED.score(column, game.id)?)?]);
    with_references.map(score).collect()
}

/// Returns the section with a row for each game and a column for each setting, with the best one in bold.
pub(super) fn games(groups: &[Group], games: &BTreeSet<&str>, scores: &ScoreTable) -> String {
    // Without reference scores, the columns for them are omitted.
    let has_references = scores.games.iter().any(|row| row.human.is_some());
    let names = groups.iter().enumerate().map(|(index, group)| name(index, group));
    let references: &[&str] = if has_references { &["random", "human"] } else { &[] };
    let headings = std::iter::once("game".to_owned()).chain(names);
    let mut table = Table::new(headings.chain(references.iter().map(|&heading| heading.to_owned())), 1);
    for game in games {
        let rows: Vec<Option<&GameScores>> =
            groups.iter().map(|group| scores.score(game, &group.label)).collect();
        let Some(first) = rows.iter().flatten().next() else { continue };
        let best = scores.best(game);
        let mut cells = vec![escaped(game)];
        cells.extend(rows.iter().map(|row| row.map_or_else(|| "-".to_owned(), |row| cell(row, best))));
        if has_references {
            cells.extend([first.random, first.human].map(format_number));
        }
        table.push(cells);
    }
    if table.is_empty() {
        return String::new();
    }
    format!(
        "<h2>Games</h2>\n<p class=\"note\">Mean return of the final evaluation, or of the last 100 episodes of a run without \
         one{}{}.{}</p>\n{}",
        if groups.iter().any(|group| group.runs.len() > 1) { ", over the runs of a setting" } else { "" },
        if has_references { ", and the human-normalised score" } else { "" },
        if has_other_modes(groups) { OTHER_MODES } else { "" },
        table.html(),
    )
}

/// Returns the mean of a setting in a game with its range and its human-normalised score.
fn cell(scores: &GameScores, best: Option<f64>) -> String {
    let mean = format_number(Some(scores.mean));
    let mean = if best == Some(scores.mean) { format!("<b>{mean}</b>") } else { mean };
    let [lowest, highest] = [scores.lowest, scores.highest].map(|score| format_number(Some(score)));
    let range = match scores.runs.len() {
        1 => None,
        runs => Some(format!("{lowest} to {highest}, {runs} runs")),
    };
    let unfinished = (scores.unfinished > 0).then(|| format!("{} unfinished", scores.unfinished));
    let normalised = scores.human_normalised.map(|score| format!("normalised {score:.3}"));
    let small = |note: Option<String>| note.map_or_else(String::new, |note| format!("<small>{note}</small>"));
    [mean, small(range), small(unfinished), small(normalised)].concat()
}

/// Returns the section with the scores of published agents in these games; nothing if there are none.
pub(super) fn published_agents(games: &BTreeSet<&str>) -> String {
    let columns = PUBLISHED.columns(games);
    let headings = std::iter::once("game").chain(columns.iter().map(|column| column.name.as_str()));
    let mut table = Table::new(headings, 1);
    for label in games {
        if columns.iter().any(|column| PUBLISHED.score(column, label).is_some()) {
            let scores = columns.iter().map(|column| published_score(column, label));
            table.push(std::iter::once(escaped(label)).chain(scores).collect());
        }
    }
    if table.is_empty() {
        return String::new();
    }
    format!(
        "<h2>Published scores</h2>\n{}<p class=\"note\">Their protocols differ:</p>\n{}",
        table.html(),
        sources(&columns)
    )
}

/// The explanation of missing values.
const OTHER_MODES: &str = " The scores of random and human players and of published agents are those of the default mode and \
    difficulty, and of episodes of five minutes or more, so games with other settings have neither these nor a \
    human-normalised score.";

/// Returns true if a game has a mode, a difficulty or a length of episodes to which no published scores apply.
fn has_other_modes(groups: &[Group]) -> bool {
    let mut runs = groups.iter().flat_map(|group| &group.runs);
    runs.any(|run| run.games().tracked().iter().any(|game| game.label != game.id))
}

/// Returns the published score of an agent in a game, with its standard deviation over seeds where that is known.
fn published_score(column: &Column, id: &str) -> String {
    let score = format_number(PUBLISHED.score(column, id));
    match PUBLISHED.deviation(column, id) {
        Some(deviation) => format!("{score} &plusmn; {}", format_number(Some(deviation))),
        None => score,
    }
}

/// Returns the sources of the published scores.
fn sources(published: &[&Column]) -> String {
    let items = published.iter().map(|Column { name, protocol, source, .. }| {
        format!("<li>{}: {}. From {}.</li>\n", escaped(name), escaped(protocol), escaped(source))
    });
    format!("<ul class=\"note\">\n{}</ul>\n", items.collect::<String>())
}
