use std::collections::BTreeSet;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::super::aggregate::Aggregate;
use super::super::group::Group;
use super::super::html::{Table, escaped, format_number, name, unbroken};
use super::super::published_scores::{Column, PUBLISHED, published};
use crate::statistics::mean;

/// Returns the section on human-normalised scores: median, interquartile mean, mean and optimality gap.
pub(super) fn aggregates(groups: &[Group], games: &BTreeSet<&str>) -> String {
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    let mut table = Table::new(["", "games"].into_iter().chain(Aggregate::ALL.map(Aggregate::name)), 1);
    for (index, group) in groups.iter().enumerate() {
        let scores = normalised(group, games);
        if scores.is_empty() {
            continue;
        }
        let several = scores.iter().any(|runs| runs.len() > 1);
        let cells = Aggregate::ALL.map(|aggregate| {
            let value = aggregate.compute(&scores);
            if !several {
                return format!("{value:.3}");
            }
            let (low, high) = aggregate.interval(&scores, &mut rng);
            format!("{value:.3} [{low:.3}, {high:.3}]")
        });
        table.push([vec![name(index, group), number_of_games(scores.len(), group)], cells.to_vec()].concat());
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

/// Returns the number of games with a human-normalised score, and of how many if not all games of a group have one.
fn number_of_games(normalised: usize, group: &Group) -> String {
    match group.games().len() {
        total if total == normalised => total.to_string(),
        total => format!("{normalised} of {total}"),
    }
}

/// Returns the human-normalised score of every run, for each game with reference scores.
pub(in super::super) fn normalised(group: &Group, games: &BTreeSet<&str>) -> Vec<Vec<f64>> {
    let scores = games.iter().filter_map(|label| normalised_in_game(group, label));
    scores.filter(|runs| !runs.is_empty()).collect()
}

/// Returns the human-normalised score of every run in a game, if the game has reference scores.
fn normalised_in_game(group: &Group, label: &str) -> Option<Vec<f64>> {
    let game = published(label)?;
    group.scores(label).into_iter().map(|score| game.human_normalised(score)).collect()
}

/// Returns the human-normalised scores of a published agent, or `None` if it lacks a game that has reference scores.
fn published_scores(column: &Column, games: &BTreeSet<&str>) -> Option<Vec<Vec<f64>>> {
    let with_references =
        games.iter().filter_map(|label| published(label).filter(|game| game.human_score.is_some()));
    let score = |game: &ale::Game| Some(vec![game.human_normalised(PUBLISHED.score(column, game.id)?)?]);
    with_references.map(score).collect()
}

/// Returns the section with the scores by game.
pub(super) fn games(groups: &[Group], games: &BTreeSet<&str>) -> String {
    let several = groups.iter().any(|group| group.runs.len() > 1);
    // Without reference scores, the columns for them are omitted.
    let scored = games.iter().any(|label| published(label).is_some_and(|game| game.human_score.is_some()));
    let mut headings = vec!["game", "setting", "return"];
    if several {
        headings.extend(["lowest to highest", "runs"]);
    }
    if scored {
        headings.extend(["human-normalised", "random", "human"]);
    }
    let mut table = Table::new(headings, 2);
    for label in games {
        let game = published(label);
        for (index, group) in groups.iter().enumerate() {
            let scores = group.scores(label);
            if scores.is_empty() {
                continue;
            }
            let mean = mean(scores.iter().copied());
            let normalised = game.and_then(|game| game.human_normalised(mean));
            let mut row = vec![escaped(label), name(index, group), format_number(Some(mean))];
            if several {
                let ends =
                    [f64::min, f64::max].map(|pick| format_number(scores.iter().copied().reduce(pick)));
                row.extend([unbroken(&ends.join(" to ")), scores.len().to_string()]);
            }
            if scored {
                row.push(normalised.map_or_else(|| "-".to_owned(), |score| format!("{score:.3}")));
                row.push(format_number(game.and_then(|game| game.random_score)));
                row.push(format_number(game.and_then(|game| game.human_score)));
            }
            table.push(row);
        }
    }
    if table.is_empty() {
        return String::new();
    }
    format!(
        "<h2>Games</h2>\n<p class=\"note\">Mean return of the final evaluation, or of the last 100 episodes of a run without \
         one.{}</p>\n{}",
        if has_other_modes(groups) { OTHER_MODES } else { "" },
        table.html(),
    )
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
