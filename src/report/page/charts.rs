use anyhow::Result;

use super::super::chart::{self, Chart};
use super::super::diagnostics::Section;
use super::super::group::{Group, in_words};
use super::super::html::{escaped, legend, name};
use crate::plot;

/// Returns the section with a learning curve for each game.
pub(super) fn learning_curves(groups: &[Group]) -> Result<String> {
    let aggregates = chart::diagnostics(groups, Section::Scores);
    let games = chart::returns(groups);
    if games.is_empty() {
        return Ok(
            "<h2>Learning curves</h2>\n<p class=\"note\">No episode has finished yet.</p>\n".to_owned()
        );
    }
    let several = groups.iter().any(|group| group.runs.len() > 1);
    let bands = if several {
        ", averaged over the seeds of a setting; the band spans the lowest and the highest of them"
    } else {
        ""
    };
    let frames = if games.len() > 1 { " Frames are summed over all games." } else { "" };
    let without = without_episodes(groups);
    let note = format!("Mean return of the last 100 episodes{bands}.{frames}{without}");
    let charts: Vec<Chart<'_>> = aggregates.into_iter().chain(games).collect();
    section("Learning curves", &note, &charts, groups)
}

/// Names the games of each group that have no curve because no episode has ended.
fn without_episodes(groups: &[Group]) -> String {
    let without = groups.iter().enumerate().filter_map(|(index, group)| {
        let games = group.games_without_episodes();
        (!games.is_empty()).then(|| (index, group, escaped(&in_words(&games))))
    });
    let sentences = without.map(|(index, group, games)| {
        let of_group = if groups.len() > 1 { format!(" of {}", name(index, group)) } else { String::new() };
        format!(" No learning curve{of_group} in {games}: no episode has ended.")
    });
    sentences.collect()
}

/// Returns the section with the curves of the learner.
pub(super) fn losses(groups: &[Group]) -> Result<String> {
    let charts = chart::diagnostics(groups, Section::Losses);
    section(
        "Losses",
        "All games of a run together. An algorithm without a value has no curve.",
        &charts,
        groups,
    )
}

/// Returns the section with the curves of the throughput.
pub(super) fn speed(groups: &[Group]) -> Result<String> {
    let charts = chart::diagnostics(groups, Section::Speed);
    section("Throughput", "Steps are decisions of the agent, over all environments.", &charts, groups)
}

/// Returns a section of charts; nothing if there are none.
fn section(title: &str, note: &str, charts: &[Chart<'_>], groups: &[Group]) -> Result<String> {
    if charts.is_empty() {
        return Ok(String::new());
    }
    let svg = charts.iter().map(plot::svg).collect::<Result<String>>()?;
    Ok(format!(
        "<h2>{title}</h2>\n<p class=\"note\">{note}</p>\n{}<div class=\"charts\">\n{svg}</div>\n",
        legend(groups)
    ))
}
