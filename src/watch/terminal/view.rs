use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::symbols::Marker;
use ratatui::text::{Line, Text};
use ratatui::widgets::{
    Axis, Block, Borders, Chart, Dataset, GraphType, List, ListItem, ListState, Paragraph, Wrap,
};
use serde_json::Value;

use super::super::scene::{PlayedGame, Scene};
use super::Screen;
use super::followed::Followed;
use crate::quantity::{count, short};
use crate::show::{bars, score_digits};
use crate::terminal::{BRIGHT, DIM, PLAIN, picture};

const KEYS: &str = " q: quit   up down: run   left right: curve   g: next game or none";
/// The number of columns below which there is no room for the list beside a chart.
const NARROW: u16 = bars::WIDTH + CHART.0;
/// The colour of curves.
const CURVE: Color = Color::Rgb(90, 170, 255);
/// Columns and rows of the smallest chart: a larger area has several.
const CHART: (u16, u16) = (44, 9);
/// The share of an axis by which it extends beyond the values.
const MARGIN: f64 = 0.05;

impl Screen {
    /// Draws the list and the readings of the agent on the left, its game and the curves on the right.
    pub(super) fn draw(&self, frame: &mut Frame<'_>) {
        let [main, keys] = Layout::vertical([Constraint::Fill(1), Constraint::Length(1)]).areas(frame.area());
        frame.render_widget(Line::styled(KEYS, DIM), keys);
        let list = if main.width < NARROW { 0 } else { bars::WIDTH + 1 };
        let columns = [Constraint::Length(list), Constraint::Fill(1)];
        let [left, right] = Layout::horizontal(columns).areas(main);
        let readings = self.readings();
        let rows = (readings.len() as u16).min(left.height / 2);
        let [list, agent] = Layout::vertical([Constraint::Fill(1), Constraint::Length(rows)]).areas(left);
        self.draw_list(frame, list);
        frame.render_widget(Paragraph::new(readings), agent);
        let rows = [Constraint::Length(3), Constraint::Fill(1), Constraint::Fill(1)];
        let [facts, stage, curves] = Layout::vertical(rows).areas(right);
        self.draw_facts(frame, facts);
        self.draw_stage(frame, stage);
        self.draw_curves(frame, curves);
    }

    fn draw_list(&self, frame: &mut Frame<'_>, area: Rect) {
        let items = self.runs().iter().map(|run| {
            let name = Line::styled(shortened(name(run), bars::WIDTH.into()), PLAIN);
            ListItem::new(Text::from(vec![name, Line::styled(format!("  {}", state(run)), DIM)]))
        });
        let title = if self.runs.is_none() { "reading the runs" } else { "runs" };
        let list = List::new(items)
            .block(Block::new().borders(Borders::TOP).border_style(DIM).title(title))
            .highlight_style(Style::new().fg(BRIGHT).add_modifier(Modifier::REVERSED));
        frame.render_stateful_widget(list, area, &mut ListState::default().with_selected(self.chosen()));
    }

    fn draw_facts(&self, frame: &mut Frame<'_>, area: Rect) {
        let Some(run) = self.chosen().map(|index| &self.runs()[index]) else {
            let text =
                if self.runs.is_some() { "There are no runs yet: `ale-train ppo` starts one." } else { "" };
            return frame.render_widget(Paragraph::new(text).wrap(Wrap { trim: true }), area);
        };
        let facts = vec![Line::styled(name(run).to_owned(), BRIGHT), Line::styled(facts(run), DIM)];
        frame.render_widget(Paragraph::new(facts).wrap(Wrap { trim: true }), area);
    }

    /// Draws the game of the agent, or the reason why there is none.
    fn draw_stage(&self, frame: &mut Frame<'_>, area: Rect) {
        let scene = self.followed.as_ref().and_then(Followed::scene);
        let notice = match scene.as_deref() {
            Some(Scene::Played { games, .. }) => {
                return games.iter().for_each(|game| draw_game(frame, game, area));
            }
            Some(Scene::Loading) => "The agent is being loaded.",
            Some(Scene::Waiting(reason) | Scene::Problem(reason)) => reason.as_str(),
            None if self.followed.is_some() => "The agent plays nothing: g starts a game.",
            None => "",
        };
        frame.render_widget(Paragraph::new(notice).wrap(Wrap { trim: true }), area);
    }

    /// Returns the score, the action and the readings of the agent.
    fn readings(&self) -> Vec<Line<'static>> {
        let Some(scene) = self.followed.as_ref().and_then(Followed::scene) else {
            return Vec::new();
        };
        let Scene::Played { frames, games } = &*scene else { return Vec::new() };
        let Some(game) = games.first() else { return Vec::new() };
        let lives = if game.lives > 0 { format!(", {} lives", game.lives) } else { String::new() };
        let over = if game.is_over { ", over" } else { "" };
        let mut lines = vec![
            Line::styled(game.title.clone(), BRIGHT),
            Line::styled(format!("agent at {} frames", count(*frames)), DIM),
            Line::from(format!("score {}{lives}{over}", score_digits(game.score))),
            Line::from(format!("value {}  {}", game.reading.value_digits(), game.action)),
        ];
        lines.extend(bars::bars(&game.options, &game.reading, &game.chosen));
        lines
    }

    /// Draws as many curves as there is room for, from the chosen one on.
    fn draw_curves(&self, frame: &mut Frame<'_>, area: Rect) {
        let Some(followed) = &self.followed else { return };
        if let Some(problem) = &followed.problem {
            return frame.render_widget(Paragraph::new(problem.as_str()).wrap(Wrap { trim: true }), area);
        }
        let curves = followed.curves();
        if curves.is_empty() {
            return frame.render_widget(Paragraph::new("There are no curves yet.").style(DIM), area);
        }
        let (columns, rows) = ((area.width / CHART.0).max(1), (area.height / CHART.1).max(1));
        let first = self.curve.min(curves.len() - 1);
        let rows = Layout::vertical(vec![Constraint::Fill(1); rows.into()]).split(area);
        let areas = rows.iter().flat_map(|row| {
            Layout::horizontal(vec![Constraint::Fill(1); columns.into()]).spacing(1).split(*row).to_vec()
        });
        for ((index, (tag, points)), area) in curves.iter().enumerate().skip(first).zip(areas) {
            let title = format!("{} ({} of {})", title(tag), index + 1, curves.len());
            frame.render_widget(chart(title, points), area);
        }
    }
}

fn draw_game(frame: &mut Frame<'_>, game: &PlayedGame, area: Rect) {
    let screen = &game.screen;
    let ratio = game.aspect_ratio.unwrap_or([screen.width, screen.height]);
    let area = picture::fit(screen, ratio, area);
    picture::draw(screen, area, frame.buffer_mut());
}

/// Returns a chart of a curve.
fn chart(title: String, points: &[(f64, f64)]) -> Chart<'_> {
    let curve =
        Dataset::default().marker(Marker::Braille).graph_type(GraphType::Line).style(CURVE).data(points);
    let frames = bounds(points.iter().map(|point| point.0), 0.0);
    let values = bounds(points.iter().map(|point| point.1), MARGIN);
    Chart::new(vec![curve])
        .block(Block::new().borders(Borders::TOP).border_style(DIM).title(title))
        .x_axis(axis(frames))
        .y_axis(axis(values))
}

fn axis([low, high]: [f64; 2]) -> Axis<'static> {
    let labels = [low, f64::midpoint(low, high), high].map(short);
    Axis::default().style(DIM).bounds([low, high]).labels(labels)
}

/// Returns the lowest and the highest value, and a margin. An axis is never empty.
fn bounds(values: impl Iterator<Item = f64> + Clone, margin: f64) -> [f64; 2] {
    let low = values.clone().fold(f64::INFINITY, f64::min);
    let high = values.fold(f64::NEG_INFINITY, f64::max);
    let margin = if high > low { margin * (high - low) } else { low.abs().max(1.0) * MARGIN };
    [low - margin, high + margin]
}

/// Returns the words of a tag without its section.
fn title(tag: &str) -> String {
    tag.split_once('/').map_or(tag, |(_, name)| name).replace('_', " ")
}

fn name(run: &Value) -> &str {
    match run["id"].as_str() {
        Some(".") | None => run["path"].as_str().unwrap_or("?"),
        Some(id) => id,
    }
}

/// Cuts a name in the middle, because both ends tell runs of a sweep apart.
fn shortened(name: &str, width: usize) -> String {
    let letters: Vec<char> = name.chars().collect();
    if letters.len() <= width {
        return name.to_owned();
    }
    let (first, last) = letters.split_at(width / 2);
    let last = &last[last.len() - (width - first.len() - 1)..];
    [first, &['…'], last].concat().into_iter().collect()
}

/// Describes the state and the score of a run.
fn state(run: &Value) -> String {
    let state = run["state"].as_str().unwrap_or("").to_owned();
    let done = run["percent_done"].as_u64().map(|percent| format!("{percent} %"));
    [Some(state), done, score(run)].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn score(run: &Value) -> Option<String> {
    let value = run["score"]["value"].as_f64()?;
    let is_share = run["score"]["human_normalised"] == true;
    Some(if is_share {
        format!("{:.0} % of a human", 100.0 * value)
    } else {
        format!("score {}", short(value))
    })
}

/// Describes the experiment and the progress of a run.
fn facts(run: &Value) -> String {
    let algorithm = run["algorithm"].as_str().map(str::to_uppercase);
    let games = run["labels"].as_array().map(|labels| match labels.as_slice() {
        [label] => label.as_str().unwrap_or("").to_owned(),
        labels => format!("{} games", labels.len()),
    });
    let frames = run["frames"].as_u64().zip(run["total_frames"].as_u64());
    let frames = frames.map(|(frames, total)| format!("{} of {} frames", count(frames), count(total)));
    let problem = run["problem"].as_str().map(str::to_owned);
    let facts = [algorithm, games, Some(state(run)), frames, problem];
    facts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_keep_both_ends() {
        assert_eq!(shortened("first", 8), "first");
        assert_eq!(shortened("sweep/gamma=0.99__seed=1", 12), "sweep/…eed=1");
        assert_eq!(shortened("12345678", 8), "12345678");
    }
}
