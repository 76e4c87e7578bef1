//! The table of games in the progress of a run: the frames, the recent return, and the same human-normalised.

use super::tracked_game::TrackedGame;
use crate::quantity::short;

/// The smallest width of the name of a game, and the width of its values.
const NAME: usize = 18;
const VALUES: usize = 24;
/// The space between two columns of games.
const GAP: usize = 3;

/// A game and its newest values.
pub(super) struct GameRow {
    pub(super) game: TrackedGame,
    pub(super) frames: f64,
    /// The mean return of the last episodes, once one has ended.
    pub(super) recent: Option<f64>,
    /// The mean length of the last episodes in steps, once one has ended.
    pub(super) length: Option<f64>,
}

impl GameRow {
    pub(super) fn new(game: &TrackedGame) -> Self {
        Self { game: game.clone(), frames: 0.0, recent: None, length: None }
    }

    pub(super) fn human_normalised(&self) -> Option<f64> {
        self.game.human_normalised(self.recent?)
    }

    /// Returns the name of the game and its recent return.
    pub(super) fn score(&self) -> Option<String> {
        Some(format!("{} {}", self.game.label, short(self.recent?)))
    }

    /// Returns the name of the game, cut to a width, and its values.
    fn cells(&self, name_width: usize) -> String {
        let recent = or_dash(self.recent.map(short));
        let human = or_dash(self.human_normalised().map(|score| format!("{score:.3}")));
        let (name, frames) = (&self.game.label, short(self.frames));
        format!("{name:name_width$.name_width$} {frames:>7} {recent:>8} {human:>6}")
    }
}

fn or_dash(value: Option<String>) -> String {
    value.unwrap_or_else(|| "-".to_owned())
}

/// Returns the number of lines of the table for a width in characters.
pub(super) fn height(games: &[GameRow], width: usize) -> usize {
    games.len().div_ceil(columns(games, width)) + 1
}

/// Returns the width of the longest name.
fn name_width(games: &[GameRow]) -> usize {
    games.iter().map(|row| row.game.label.chars().count()).fold(NAME, usize::max)
}

/// Returns the number of games side by side.
fn columns(games: &[GameRow], width: usize) -> usize {
    ((width + GAP) / (name_width(games) + VALUES + GAP)).max(1)
}

/// Returns the table in at most `height` lines of at most `width` characters.
pub(super) fn table(games: &[GameRow], width: usize, height: usize) -> String {
    let columns = columns(games, width).min(games.len().max(1));
    let rows = games.len().div_ceil(columns);
    let name_width = name_width(games).min(width.saturating_sub(VALUES)).max(NAME);
    let heading = format!("{:name_width$} {:>7} {:>8} {:>6}", "game", "frames", "return", "human");
    let gap = " ".repeat(GAP);
    let mut lines = vec![vec![heading; columns].join(&gap)];
    for row in 0..rows {
        let in_row = (0..columns).filter_map(|column| games.get(column * rows + row));
        lines.push(in_row.map(|game| game.cells(name_width)).collect::<Vec<_>>().join(&gap));
    }
    lines.truncate(height.max(1));
    lines.join("\n")
}
