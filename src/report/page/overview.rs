use std::collections::BTreeSet;

use super::super::group::{Group, in_words};
use super::super::html::{Table, date, duration, escaped, format_number, name, unbroken};
use super::super::runs::RunHistory;

/// The number of characters of a commit that are shown.
const COMMIT: usize = 9;

/// Returns a line about the algorithms and games.
pub(super) fn subject(groups: &[Group], games: &BTreeSet<&str>) -> String {
    let algorithms: BTreeSet<&str> = groups.iter().map(Group::algorithm).collect();
    let algorithms = algorithms.into_iter().collect::<Vec<_>>().join(", ");
    let settings = if groups.len() > 1 { format!(", {} settings", groups.len()) } else { String::new() };
    format!("<p class=\"note\">{algorithms} on {}{settings}</p>\n", in_words(games))
}

/// Returns the section with a row for each run.
pub(super) fn runs(groups: &[Group]) -> String {
    let headings = [
        "setting",
        "run",
        "seed",
        "frames",
        "progress",
        "steps per second",
        "time",
        "threads",
        "device",
        "started",
        "commit",
    ];
    // The only setting needs no column.
    let skipped = usize::from(groups.len() == 1);
    let mut table = Table::new(headings.into_iter().skip(skipped), 2 - skipped);
    for (index, group) in groups.iter().enumerate() {
        for run in &group.runs {
            table.push([vec![name(index, group)], cells(run)].concat().split_off(skipped));
        }
    }
    format!("<h2>Runs</h2>\n{}<p class=\"note\">Times are UTC.</p>\n", table.html())
}

fn cells(run: &RunHistory) -> Vec<String> {
    let (experiment, provenance) = (&run.experiment, &run.provenance);
    let unknown = || "-".to_owned();
    let threads = match provenance.num_threads.unwrap_or(experiment.run.num_threads) {
        0 => unbroken("all cores"),
        threads => threads.to_string(),
    };
    let commit = provenance.commit.as_deref().map(|commit| match commit.split_once('+') {
        Some((commit, changes)) => format!("{}<wbr>+{}", escaped(&shortened(commit)), escaped(changes)),
        None => escaped(&shortened(commit)),
    });
    vec![
        escaped(&run.name),
        experiment.run.seed.to_string(),
        format_number(Some(run.reached.frames as f64)),
        format!("{}&nbsp;%", experiment.percent_done(&run.reached)),
        format_number(run.sps),
        unbroken(&duration(run.seconds)),
        threads,
        escaped(&experiment.run.device),
        provenance.started.map_or_else(unknown, started),
        commit.map_or_else(unknown, |commit| format!("<code>{commit}</code>")),
    ]
}

/// Returns a date and a time, between which a line may be broken.
fn started(seconds: u64) -> String {
    let date = date(seconds);
    date.split(' ').map(unbroken).collect::<Vec<_>>().join(" ")
}

fn shortened(commit: &str) -> String {
    commit.chars().take(COMMIT).collect()
}
