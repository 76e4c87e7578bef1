use std::io::{self, Write};

use crossterm::cursor::MoveTo;
use crossterm::queue;
use crossterm::style::{self, Color, Colors, Print, ResetColor, SetColors};

/// Red, green and blue.
pub(super) type Rgb = [u8; 3];

/// One character cell of the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) letter: char,
    pub(super) foreground: Rgb,
    pub(super) background: Rgb,
}

impl Cell {
    const BLANK: Self = Self { letter: ' ', foreground: [0; 3], background: [0; 3] };
}

/// The colours that a terminal can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ColourDepth {
    /// 24 bits.
    True,
    /// The 256 colours of xterm.
    Indexed,
}

impl ColourDepth {
    /// Returns the depth that the terminal declares in `$COLORTERM`.
    pub(super) fn of_terminal() -> Self {
        if style::available_color_count() == u16::MAX { Self::True } else { Self::Indexed }
    }

    fn color(self, [r, g, b]: Rgb) -> Color {
        match self {
            Self::True => Color::Rgb { r, g, b },
            Self::Indexed => Color::AnsiValue(nearest_index([r, g, b])),
        }
    }
}

/// Returns the nearest of xterm's colours 16 to 255: a cube of six levels, and 24 shades of grey.
fn nearest_index(colour: Rgb) -> u8 {
    const LEVELS: [u8; 6] = [0, 95, 135, 175, 215, 255];
    let distance_to_level = |value: u8, level: u8| LEVELS[usize::from(level)].abs_diff(value);
    let cube =
        colour.map(|value| (0..6u8).min_by_key(|&level| distance_to_level(value, level)).unwrap_or_default());
    let cube_distance = distance(colour, cube.map(|level| LEVELS[usize::from(level)]));
    let grey = |shade: u8| [8 + 10 * shade; 3];
    let shade = (0..24u8).min_by_key(|&shade| distance(colour, grey(shade))).unwrap_or(0);
    if distance(colour, grey(shade)) < cube_distance {
        232 + shade
    } else {
        16 + 36 * cube[0] + 6 * cube[1] + cube[2]
    }
}

/// Returns the square of the Euclidean distance of two colours.
fn distance(first: Rgb, second: Rgb) -> u32 {
    first.iter().zip(second).map(|(&first, second)| u32::from(first.abs_diff(second)).pow(2)).sum()
}

/// The contents of the terminal, cell by cell.
#[derive(Clone, Debug)]
pub(super) struct Grid {
    columns: usize,
    rows: usize,
    cells: Vec<Cell>,
}

impl Grid {
    /// Returns a blank grid.
    pub(super) fn new(columns: usize, rows: usize) -> Self {
        Self { columns, rows, cells: vec![Cell::BLANK; columns * rows] }
    }

    /// Returns the numbers of columns and rows.
    pub(super) fn size(&self) -> (usize, usize) {
        (self.columns, self.rows)
    }

    /// Sets a cell. Outside the grid it does nothing.
    pub(super) fn set(&mut self, column: usize, row: usize, cell: Cell) {
        if column < self.columns
            && let Some(shown) = self.cells.get_mut(row * self.columns + column)
        {
            *shown = cell;
        }
    }

    /// Writes text, cut off at the edge.
    pub(super) fn write(&mut self, column: usize, row: usize, text: &str, foreground: Rgb) {
        for (column, letter) in (column..).zip(text.chars()) {
            self.set(column, row, Cell { letter, foreground, background: [0; 3] });
        }
    }

    /// Writes the commands that turn `shown`, a grid of the same size, into this one. `None` stands for a cleared
    /// screen.
    pub(super) fn draw(
        &self,
        shown: Option<&Self>,
        depth: ColourDepth,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let (mut colours, mut cursor) = (None, None);
        for (index, cell) in self.cells.iter().enumerate() {
            if shown.is_some_and(|shown| shown.cells[index] == *cell) {
                continue;
            }
            let (row, column) = (index / self.columns, index % self.columns);
            if cursor != Some(index) || column == 0 {
                queue!(out, MoveTo(column as u16, row as u16))?;
            }
            let needed = Colors::new(depth.color(cell.foreground), depth.color(cell.background));
            if colours != Some(needed) {
                queue!(out, SetColors(needed))?;
            }
            queue!(out, Print(cell.letter))?;
            (colours, cursor) = (Some(needed), Some(index + 1));
        }
        if colours.is_some() {
            queue!(out, ResetColor)?;
        }
        Ok(())
    }

    /// Returns the letters of a row.
    #[cfg(test)]
    pub(super) fn row(&self, row: usize) -> String {
        self.cells[row * self.columns..][..self.columns].iter().map(|cell| cell.letter).collect()
    }

    #[cfg(test)]
    pub(super) fn at(&self, column: usize, row: usize) -> Cell {
        self.cells[row * self.columns + column]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(grid: &Grid, shown: Option<&Grid>, depth: ColourDepth) -> String {
        let mut out = Vec::new();
        grid.draw(shown, depth, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn draws_only_the_cells_that_changed() {
        let before = Grid::new(4, 2);
        let mut after = before.clone();
        assert_eq!(drawn(&after, Some(&before), ColourDepth::True), "");
        after.write(1, 1, "abcdef", [255, 0, 10]);
        let sent = "\x1b[2;2H\x1b[38;2;255;0;10;48;2;0;0;0mabc\x1b[0m";
        assert_eq!(drawn(&after, Some(&before), ColourDepth::True), sent);
        assert_eq!(after.row(1), " abc");
        // The blanks are drawn on a cleared screen too: its colour is unknown.
        assert_eq!(drawn(&after, None, ColourDepth::True).matches(' ').count(), 5);
        assert!(drawn(&after, Some(&before), ColourDepth::Indexed).contains("38;5;196;48;5;16m"));
    }

    #[test]
    fn finds_the_nearest_colour_of_the_palette() {
        let colours =
            [[0, 0, 0], [255, 255, 255], [255, 0, 0], [95, 135, 175], [128, 128, 128], [10, 10, 10]];
        assert_eq!(colours.map(nearest_index), [16, 231, 196, 67, 244, 232]);
    }
}
