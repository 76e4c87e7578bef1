use std::io::Write;

/// Red, green and blue.
pub(super) type Rgb = [u8; 3];

/// One character on the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) letter: char,
    pub(super) ink: Rgb,
    pub(super) paper: Rgb,
}

impl Cell {
    const BLANK: Self = Self { letter: ' ', ink: [0; 3], paper: [0; 3] };
}

/// How the terminal shows colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Colours {
    /// All of them.
    True,
    /// The 256 of xterm.
    Indexed,
}

impl Colours {
    /// What the terminal says of itself in `$COLORTERM`.
    pub(super) fn of(colorterm: Option<&str>) -> Self {
        match colorterm {
            Some("truecolor" | "24bit") => Self::True,
            _ => Self::Indexed,
        }
    }

    /// The parameters that choose a colour, after 38 for letters and 48 for what is behind them.
    fn parameters(self, colour: Rgb) -> String {
        let [red, green, blue] = colour;
        match self {
            Self::True => format!("2;{red};{green};{blue}"),
            Self::Indexed => format!("5;{}", nearest_index(colour)),
        }
    }
}

/// The nearest of xterm's colours 16 to 255: a cube of six levels, and 24 shades of grey.
fn nearest_index(colour: Rgb) -> u8 {
    const LEVELS: [u8; 6] = [0, 95, 135, 175, 215, 255];
    let distance =
        |other: Rgb| -> u32 { colour.iter().zip(other).map(|(&a, b)| u32::from(a.abs_diff(b)).pow(2)).sum() };
    let level =
        |value: u8| (0..6u8).min_by_key(|&level| LEVELS[usize::from(level)].abs_diff(value)).unwrap_or(0);
    let cube = colour.map(level);
    let cube_distance = distance(cube.map(|level| LEVELS[usize::from(level)]));
    let grey = |shade: u8| [8 + 10 * shade; 3];
    let shade = (0..24u8).min_by_key(|&shade| distance(grey(shade))).unwrap_or(0);
    if distance(grey(shade)) < cube_distance {
        232 + shade
    } else {
        16 + 36 * cube[0] + 6 * cube[1] + cube[2]
    }
}

/// What the terminal shows, cell by cell.
#[derive(Clone, Debug)]
pub(super) struct Canvas {
    columns: usize,
    cells: Vec<Cell>,
}

impl Canvas {
    /// An empty one.
    pub(super) fn new(columns: usize, rows: usize) -> Self {
        Self { columns, cells: vec![Cell::BLANK; columns * rows] }
    }

    /// Puts a cell somewhere; beyond the edges nothing happens.
    pub(super) fn put(&mut self, column: usize, row: usize, cell: Cell) {
        if column < self.columns
            && let Some(place) = self.cells.get_mut(row * self.columns + column)
        {
            *place = cell;
        }
    }

    /// Writes words, cut off at the edge.
    pub(super) fn write(&mut self, column: usize, row: usize, text: &str, ink: Rgb) {
        for (column, letter) in (column..).zip(text.chars()) {
            self.put(column, row, Cell { letter, ink, paper: [0; 3] });
        }
    }

    /// What has to be sent to a terminal that shows `before`, which is as large, or has just been cleared.
    pub(super) fn draw(&self, before: Option<&Self>, colours: Colours, out: &mut Vec<u8>) {
        let (mut pen, mut next) = (None, None);
        for (index, cell) in self.cells.iter().enumerate() {
            if before.is_some_and(|before| before.cells[index] == *cell) {
                continue;
            }
            // Writing to memory cannot fail.
            let (row, column) = (index / self.columns, index % self.columns);
            if next != Some(index) || column == 0 {
                let _ = write!(out, "\x1b[{};{}H", row + 1, column + 1);
            }
            if pen != Some((cell.ink, cell.paper)) {
                let [ink, paper] = [cell.ink, cell.paper].map(|colour| colours.parameters(colour));
                let _ = write!(out, "\x1b[38;{ink};48;{paper}m");
            }
            let _ = write!(out, "{}", cell.letter);
            (pen, next) = (Some((cell.ink, cell.paper)), Some(index + 1));
        }
        if pen.is_some() {
            out.extend_from_slice(b"\x1b[0m");
        }
    }

    /// The letters of a row.
    #[cfg(test)]
    pub(super) fn row(&self, row: usize) -> String {
        self.cells[row * self.columns..][..self.columns].iter().map(|cell| cell.letter).collect()
    }

    /// A cell.
    #[cfg(test)]
    pub(super) fn at(&self, column: usize, row: usize) -> Cell {
        self.cells[row * self.columns + column]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(canvas: &Canvas, before: Option<&Canvas>, colours: Colours) -> String {
        let mut out = Vec::new();
        canvas.draw(before, colours, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn only_what_has_changed_is_sent() {
        let before = Canvas::new(4, 2);
        let mut after = before.clone();
        assert_eq!(drawn(&after, Some(&before), Colours::True), "");
        after.write(1, 1, "abcdef", [255, 0, 10]);
        let sent = "\x1b[2;2H\x1b[38;2;255;0;10;48;2;0;0;0mabc\x1b[0m";
        assert_eq!(drawn(&after, Some(&before), Colours::True), sent);
        assert_eq!(after.row(1), " abc");
        // Nothing is known of a terminal that was cleared.
        assert_eq!(drawn(&after, None, Colours::True).matches(' ').count(), 5);
        assert!(drawn(&after, Some(&before), Colours::Indexed).contains("38;5;196;48;5;16m"));
    }

    #[test]
    fn every_colour_has_a_nearest_one_in_the_terminals_palette() {
        let colours =
            [[0, 0, 0], [255, 255, 255], [255, 0, 0], [95, 135, 175], [128, 128, 128], [10, 10, 10]];
        assert_eq!(colours.map(nearest_index), [16, 231, 196, 67, 244, 232]);
        assert_eq!(
            [Some("truecolor"), Some("24bit"), Some("yes"), None].map(Colours::of),
            [Colours::True, Colours::True, Colours::Indexed, Colours::Indexed,]
        );
    }
}
