use std::borrow::Cow;

use serde::Serialize;

use super::super::chart::{self, Chart};
use super::super::curve::Band;
use super::super::diagnostics::Section;
use super::super::group::{Group, games};
use super::super::html::{escaped, name};

/// The digits of a value after the first one.
const DIGITS: usize = 5;

/// The curves of a part, which the script of the page draws.
#[derive(Serialize)]
pub(super) struct PartCurves<'a> {
    /// The names of the groups.
    names: Vec<&'a str>,
    charts: Vec<ChartData<'a>>,
}

#[derive(Serialize)]
struct ChartData<'a> {
    section: Section,
    title: Cow<'a, str>,
    /// The game, if the curves are those of one.
    game: Option<&'a str>,
    curves: Vec<CurveData>,
    /// The groups that play the game, but have not finished an episode.
    waiting: Vec<usize>,
}

#[derive(Serialize)]
struct CurveData {
    group: usize,
    frames: Vec<f64>,
    values: Vec<f64>,
    /// The lowest and the highest run, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    low: Option<Vec<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    high: Option<Vec<f64>>,
}

impl<'a> PartCurves<'a> {
    pub(super) fn of(groups: &'a [Group]) -> Self {
        let charts =
            |section| chart::diagnostics(groups, section).into_iter().map(move |chart| (section, chart));
        let of_games = chart::returns(groups).into_iter().chain(chart::evaluations(groups));
        let scores = charts(Section::Scores).chain(of_games.map(|chart| (Section::Scores, chart)));
        let charts = scores.chain(charts(Section::Losses)).chain(charts(Section::Speed));
        Self {
            names: groups.iter().map(|group| group.label.as_str()).collect(),
            charts: charts.map(|(section, chart)| ChartData::new(section, chart, groups)).collect(),
        }
    }
}

impl<'a> ChartData<'a> {
    fn new(section: Section, chart: Chart<'a>, groups: &[Group]) -> Self {
        let curves = chart.curves.iter().enumerate().filter(|(_, band)| !band.is_empty());
        let curves = curves.map(|(group, band)| CurveData::new(group, band, groups[group].runs.len() > 1));
        let is_waiting = |group: &usize| {
            chart.curves[*group].is_empty()
                && chart.game.is_some_and(|game| groups[*group].waits_for_episode(game))
        };
        Self {
            section,
            curves: curves.collect(),
            waiting: (0..groups.len()).filter(is_waiting).collect(),
            title: chart.title,
            game: chart.game,
        }
    }
}

impl CurveData {
    fn new(group: usize, band: &[Band], has_edges: bool) -> Self {
        let column =
            |value: fn(&Band) -> f64| -> Vec<f64> { band.iter().map(|band| rounded(value(band))).collect() };
        Self {
            group,
            frames: column(|band| band.frames.round()),
            values: column(|band| band.mean),
            low: has_edges.then(|| column(|band| band.low)),
            high: has_edges.then(|| column(|band| band.high)),
        }
    }
}

/// Rounds a value to the digits that a chart can show.
fn rounded(value: f64) -> f64 {
    format!("{value:.DIGITS$e}").parse().unwrap_or(value)
}

/// Returns the sections with the curves of a part: the places of the charts, and their controls.
pub(super) fn sections(part: usize, groups: &[Group]) -> String {
    let several = groups.iter().any(|group| group.runs.len() > 1);
    let bands = if several {
        ", averaged over the seeds of a setting; the band spans the lowest and the highest of them"
    } else {
        ""
    };
    let frames = if games(groups).len() > 1 { " Frames are summed over all games." } else { "" };
    let places = [
        (
            "Learning curves",
            Section::Scores,
            format!(
                "Mean return of the last 100 episodes{bands}, and of evaluations during training.{frames}"
            ),
        ),
        (
            "Losses",
            Section::Losses,
            "All games of a run together. An algorithm without a value has no curve.".to_owned(),
        ),
        ("Throughput", Section::Speed, "Steps are decisions of the agent, over all environments.".to_owned()),
    ];
    let sections = places.into_iter().map(|(title, section, note)| {
        let controls = if section == Section::Scores { controls(groups) } else { String::new() };
        if controls.is_empty() && chart::diagnostics(groups, section).is_empty() {
            return String::new();
        }
        let place = serde_json::to_value(section).unwrap_or_default();
        format!(
            "<h2>{title}</h2>\n<p class=\"note\">{note}</p>\n{controls}<div class=\"charts\" data-section={place}></div>\n"
        )
    });
    let sections: Vec<String> = sections.collect();
    format!("<section class=\"curves\" data-part=\"{part}\">\n{}</section>\n", sections.concat())
}

/// Returns the choice of a game, the smoothing and the legend, as far as there is a choice.
fn controls(groups: &[Group]) -> String {
    let games: Vec<String> = games(groups).into_iter().map(game_option).collect();
    let game = match games.len() {
        0 | 1 => String::new(),
        _ => format!(
            "<label>Curves of <select><option value=\"\">all games</option>{}</select></label>\n",
            games.concat()
        ),
    };
    let names: Vec<String> = groups.iter().enumerate().map(|(index, group)| toggle(index, group)).collect();
    let legend = match names.len() {
        0 | 1 => String::new(),
        _ => format!("<ul class=\"legend\">{}</ul>\n", names.concat()),
    };
    format!(
        "<noscript><p class=\"note\">The curves need JavaScript.</p></noscript>\n<div class=\"controls\">\n{game}\
         <label>Smoothing <input type=\"range\" min=\"0\" max=\"0.98\" step=\"0.02\" value=\"0\"></label>\n{legend}</div>\n"
    )
}

fn game_option(game: &str) -> String {
    format!("<option>{}</option>", escaped(game))
}

/// Returns the entry of a group in the legend, which shows and hides its curves.
fn toggle(index: usize, group: &Group) -> String {
    format!("<li><label><input type=\"checkbox\" checked> {}</label></li>", name(index, group))
}
