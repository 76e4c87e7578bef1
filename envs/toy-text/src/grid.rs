/// A direction of movement on a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Up,
    Right,
    Down,
    Left,
}

/// The size of a map whose cells are numbered row by row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grid {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
}

impl Grid {
    pub(crate) fn num_cells(self) -> usize {
        self.rows * self.columns
    }

    /// Returns the neighbour of `cell`, or `cell` at the edge of the map.
    pub(crate) fn neighbour(self, cell: usize, direction: Direction) -> usize {
        let (row, column) = (cell / self.columns, cell % self.columns);
        let (row, column) = match direction {
            Direction::Up => (row.saturating_sub(1), column),
            Direction::Right => (row, (column + 1).min(self.columns - 1)),
            Direction::Down => ((row + 1).min(self.rows - 1), column),
            Direction::Left => (row, column.saturating_sub(1)),
        };
        row * self.columns + column
    }
}
