//! Toy text: maps with the cell of the agent, and hands of cards.

use anyhow::Result;
use plotters::style::RGBColor;

use super::canvas::{Canvas, Point, SIZE};
use super::number;

const LINE: RGBColor = RGBColor(87, 96, 106);
const PLAIN: RGBColor = RGBColor(234, 238, 242);
const START: RGBColor = RGBColor(208, 215, 222);
const DANGER: RGBColor = RGBColor(60, 70, 90);
const GOAL: RGBColor = RGBColor(74, 194, 107);
const AGENT: RGBColor = RGBColor(9, 105, 218);
const PASSENGER: RGBColor = RGBColor(191, 57, 137);
const TEXT: RGBColor = RGBColor(31, 35, 40);

pub(super) fn frozen_lake_4x4(canvas: &Canvas<'_>, observation: &[f32]) -> Result<()> {
    frozen_lake(canvas, &toy_text::MAP_4X4, observation)
}

pub(super) fn frozen_lake_8x8(canvas: &Canvas<'_>, observation: &[f32]) -> Result<()> {
    frozen_lake(canvas, &toy_text::MAP_8X8, observation)
}

fn frozen_lake(canvas: &Canvas<'_>, map: &[&str], observation: &[f32]) -> Result<()> {
    let colour = |row: usize, column: usize| match map[row].as_bytes()[column] {
        b'S' => START,
        b'H' => DANGER,
        b'G' => GOAL,
        _ => PLAIN,
    };
    let map = Map::new(map.len(), map[0].len());
    map.draw(canvas, colour)?;
    map.mark(canvas, number(observation), AGENT, 0.32)
}

/// Draws the walk along a cliff. The start and the goal are at the ends of the last row, and the cliff is between them.
pub(super) fn cliff_walking(canvas: &Canvas<'_>, observation: &[f32]) -> Result<()> {
    const ROWS: usize = 4;
    const COLUMNS: usize = 12;
    let colour = |row: usize, column: usize| match (row, column) {
        (3, 0) => START,
        (3, column) if column == COLUMNS - 1 => GOAL,
        (3, _) => DANGER,
        _ => PLAIN,
    };
    let map = Map::new(ROWS, COLUMNS);
    map.draw(canvas, colour)?;
    map.mark(canvas, number(observation), AGENT, 0.32)
}

/// Draws the taxi, its passenger and the destination, on the map with its walls.
pub(super) fn taxi(canvas: &Canvas<'_>, observation: &[f32]) -> Result<()> {
    const SIZE: usize = 5;
    let state = toy_text::TaxiRide::from_state(number(observation));
    let map = Map::new(SIZE, SIZE);
    let stop = |index: usize| {
        let (row, column) = toy_text::TAXI_STANDS[index];
        row * SIZE + column
    };
    map.draw(canvas, |row, column| {
        let cell = row * SIZE + column;
        if cell == stop(state.destination) {
            GOAL
        } else if (0..toy_text::TAXI_STANDS.len()).any(|index| cell == stop(index)) {
            START
        } else {
            PLAIN
        }
    })?;
    for (row, line) in toy_text::TAXI_MAP.iter().enumerate() {
        for column in (1..SIZE).filter(|column| line[2 * column] == b'|') {
            let [from, to] = [row, row + 1].map(|row| map.corner(row, column));
            canvas.line(&[from, to], 5.0, LINE)?;
        }
    }
    map.mark(canvas, state.row * SIZE + state.column, AGENT, 0.36)?;
    let is_in_taxi = state.passenger == toy_text::TAXI_STANDS.len();
    let place = if is_in_taxi { state.row * SIZE + state.column } else { stop(state.passenger) };
    map.mark(canvas, place, PASSENGER, 0.2)
}

/// Writes the player's sum, the dealer's card, and that an ace counts 11.
pub(super) fn blackjack(canvas: &Canvas<'_>, observation: &[f32]) -> Result<()> {
    // The numbers of values of the three elements of an observation.
    let (sum, rest) = observation.split_at_checked(32).unwrap_or((observation, &[]));
    let (card, ace) = rest.split_at_checked(11).unwrap_or((rest, &[]));
    let middle = SIZE.0 as f64 / 2.0;
    canvas.text(&format!("player {}", number(sum)), [middle, 100.0], 48.0, TEXT)?;
    if number(ace) == 1 {
        canvas.text("an ace counts 11", [middle, 145.0], 22.0, LINE)?;
    }
    let card = match number(card) {
        1 => "an ace".to_owned(),
        card => card.to_string(),
    };
    canvas.text(&format!("dealer shows {card}"), [middle, 210.0], 32.0, AGENT)
}

/// A map of square cells in the middle of a picture.
struct Map {
    rows: usize,
    columns: usize,
    /// The side of a cell.
    side: f64,
}

impl Map {
    fn new(rows: usize, columns: usize) -> Self {
        let (width, height) = (SIZE.0 as f64 - 20.0, SIZE.1 as f64 - 20.0);
        Self { rows, columns, side: (width / columns as f64).min(height / rows as f64) }
    }

    /// Returns the upper left corner of a cell.
    fn corner(&self, row: usize, column: usize) -> Point {
        let start = |size: usize, count: usize| (size as f64 - count as f64 * self.side) / 2.0;
        [
            start(SIZE.0, self.columns) + column as f64 * self.side,
            start(SIZE.1, self.rows) + row as f64 * self.side,
        ]
    }

    fn draw(&self, canvas: &Canvas<'_>, colour: impl Fn(usize, usize) -> RGBColor) -> Result<()> {
        for row in 0..self.rows {
            for column in 0..self.columns {
                let [x, y] = self.corner(row, column);
                canvas.rectangle(
                    [[x + 1.0, y + 1.0], [x + self.side - 1.0, y + self.side - 1.0]],
                    colour(row, column),
                )?;
            }
        }
        Ok(())
    }

    /// Draws a disc in a cell, with a radius as a share of its side.
    fn mark(&self, canvas: &Canvas<'_>, cell: usize, colour: RGBColor, radius: f64) -> Result<()> {
        let [x, y] = self.corner(cell / self.columns, cell % self.columns);
        canvas.disc([x + self.side / 2.0, y + self.side / 2.0], radius * self.side, colour)
    }
}
