use std::ops::Range;
use std::slice;

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use super::number::pair;

/// Columns of a panel: two tiles.
pub(in crate::networks) const COLUMNS: usize = 32;

/// Columns of a tile.
pub(super) const TILE: usize = 16;

/// Values of a row, and rows of a panel, that are multiplied together.
pub(in crate::networks) const BLOCK: usize = 32;

/// Pairs of rows in a block.
pub(in crate::networks) const PAIRS: usize = BLOCK / 2;

/// Words of a block.
pub(super) const WORDS: usize = PAIRS * COLUMNS;

/// A matrix of `bf16` as panels of 32 columns. A panel consists of blocks of 32 rows; a block of two tiles, one for each half
/// of the columns; a tile of 16 pairs of rows; and a pair of 16 words with the values of both rows in one column each.
/// Missing rows and columns are zeros.
#[derive(Debug)]
pub(in crate::networks) struct HalfPanels {
    lines: Vec<Line>,
    runs: usize,
    /// Blocks of each run.
    blocks: usize,
    columns: usize,
}

/// A cache line.
#[repr(align(64))]
#[derive(Clone, Copy, Debug)]
struct Line([u32; TILE]);

impl HalfPanels {
    /// Packs a matrix `[runs * length, columns]` in row-major order, whose rows belong to runs of `length` values. Each run
    /// begins a new block.
    pub(in crate::networks) fn of(matrix: &[f32], runs: usize, length: usize, columns: usize) -> Self {
        assert_eq!(matrix.len(), runs * length * columns);
        let mut panels = Self::zeros(runs, length, columns);
        let write = |place: Place, line: &mut [u32; TILE]| {
            let first = (place.run * length + place.row) * columns;
            let rows = &matrix[first..(first + 2 * columns).min((place.run + 1) * length * columns)];
            let (upper, lower) = rows.split_at(columns);
            let upper = &upper[place.columns.clone()];
            // The last row of a run may have no partner.
            let Some(lower) = lower.get(place.columns) else {
                line.iter_mut().zip(upper).for_each(|(word, &upper)| *word = pair(upper, 0.0));
                return;
            };
            for ((word, &upper), &lower) in line.iter_mut().zip(upper).zip(lower) {
                *word = pair(upper, lower);
            }
        };
        panels.fill(length, write);
        panels
    }

    /// Packs the transpose of a matrix `[columns, length]` in row-major order, as one run.
    pub(in crate::networks) fn of_transposed(matrix: &[f32], columns: usize) -> Self {
        let length = matrix.len() / columns;
        let mut panels = Self::zeros(1, length, columns);
        let write = |place: Place, line: &mut [u32; TILE]| {
            for (word, column) in line.iter_mut().zip(place.columns) {
                let values = &matrix[column * length + place.row..(column + 1) * length];
                *word = pair(values[0], values.get(1).copied().unwrap_or(0.0));
            }
        };
        panels.fill(length, write);
        panels
    }

    fn zeros(runs: usize, length: usize, columns: usize) -> Self {
        let blocks = length.div_ceil(BLOCK);
        let lines = columns.div_ceil(COLUMNS) * runs * blocks * WORDS / TILE;
        Self { lines: vec![Line([0; TILE]); lines], runs, blocks, columns }
    }

    /// Calls `write` for each line that holds values of the matrix.
    fn fill(&mut self, length: usize, write: impl Fn(Place, &mut [u32; TILE]) + Sync) {
        let (runs, blocks, columns, write) = (self.runs, self.blocks, self.columns, &write);
        let lines = self.lines.par_chunks_mut(runs * blocks * WORDS / TILE);
        lines.enumerate().for_each(|(panel, lines)| {
            let first = panel * COLUMNS;
            Arch::new().dispatch(FillPanel {
                lines,
                columns: first..(first + COLUMNS).min(columns),
                blocks,
                length,
                write,
            });
        });
    }

    /// Returns the number of panels.
    pub(super) fn count(&self) -> usize {
        self.columns.div_ceil(COLUMNS)
    }

    pub(super) fn runs(&self) -> usize {
        self.runs
    }

    /// Returns the number of blocks of each run.
    pub(super) fn blocks(&self) -> usize {
        self.blocks
    }

    /// Returns the number of columns of a panel that belong to the matrix.
    pub(super) fn shown_columns(&self, panel: usize) -> usize {
        COLUMNS.min(self.columns - panel * COLUMNS)
    }

    /// Returns the number of columns.
    pub(in crate::networks) fn columns(&self) -> usize {
        self.columns
    }

    /// Returns the words of a panel, aligned to a cache line.
    pub(super) fn panel(&self, panel: usize) -> &[u32] {
        let size = self.runs * self.blocks * WORDS / TILE;
        words(&self.lines[panel * size..(panel + 1) * size])
    }
}

/// The place of a line: a pair of rows, the first of which is a row of a run, in some columns.
struct Place {
    run: usize,
    row: usize,
    columns: Range<usize>,
}

/// Operation that calls `write` for each line of a panel that holds values of the matrix.
struct FillPanel<'a, W> {
    lines: &'a mut [Line],
    /// The columns of the matrix in this panel.
    columns: Range<usize>,
    /// Blocks of each run.
    blocks: usize,
    /// Rows of each run.
    length: usize,
    write: &'a W,
}

impl<W: Fn(Place, &mut [u32; TILE])> WithSimd for FillPanel<'_, W> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { lines, columns, blocks, length, write } = self;
        for (index, block) in lines.chunks_exact_mut(WORDS / TILE).enumerate() {
            let (run, first_row) = (index / blocks, index % blocks * BLOCK);
            for (tile, lines) in block.chunks_exact_mut(PAIRS).enumerate() {
                let first = columns.start + tile * TILE;
                if first >= columns.end {
                    continue;
                }
                let columns = first..(first + TILE).min(columns.end);
                for (row, line) in (first_row..length).step_by(2).zip(lines) {
                    write(Place { run, row, columns: columns.clone() }, &mut line.0);
                }
            }
        }
    }
}

#[allow(unsafe_code)]
fn words(lines: &[Line]) -> &[u32] {
    // SAFETY: a line consists of its words, without padding.
    unsafe { slice::from_raw_parts(lines.as_ptr().cast(), lines.len() * TILE) }
}
