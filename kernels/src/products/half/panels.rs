use std::ops::Range;
use std::slice;

use rayon::prelude::*;

use super::sizes::{BLOCK_ROWS, BLOCK_TILES, PANEL_COLUMNS, TILE};
use super::words::{Tile, pair_neighbours, pair_rows, part_of_row, transpose};

/// A matrix of `bf16` as panels of 32 columns. A panel consists of blocks of 32 rows. A block consists of two tiles,
/// one for each half of the columns. A tile consists of 16 pairs of rows, and a pair of 16 words with the values of
/// both rows in one column each. Missing rows and columns are zeros.
#[derive(Debug)]
pub(crate) struct HalfPanels {
    tiles: Vec<AlignedTile>,
    runs: usize,
    /// Blocks of each run.
    blocks: usize,
    columns: usize,
}

/// A tile whose lines are cache lines.
#[repr(align(64))]
#[derive(Clone, Copy, Debug)]
struct AlignedTile(Tile);

impl HalfPanels {
    /// Packs a matrix `[runs * length, columns]` in row-major order, whose rows belong to runs of `length` values. Each
    /// run begins a new block.
    pub(crate) fn pack(matrix: &[f32], runs: usize, length: usize, columns: usize) -> Self {
        assert_eq!(matrix.len(), runs * length * columns);
        let mut panels = Self::zeros(runs, length, columns);
        panels.fill(length, |run, rows, shown, lines| {
            let rows_of_run = &matrix[run * length * columns..][..length * columns];
            for (first, line) in rows.step_by(2).zip(lines) {
                // The last row of a run may have no partner.
                let [first, second] =
                    [first, first + 1].map(|row| part_of_row(rows_of_run, columns, row, &shown));
                pair_rows(first, second, line);
            }
        });
        panels
    }

    /// Packs the transpose of a matrix `[columns, length]` in row-major order, as one run.
    pub(crate) fn pack_transposed(matrix: &[f32], columns: usize) -> Self {
        let length = matrix.len() / columns;
        let mut panels = Self::zeros(1, length, columns);
        panels.fill(length, |_, rows, shown, tile| {
            for (column, line) in shown.zip(tile.iter_mut()) {
                pair_neighbours(&matrix[column * length..][rows.clone()], line);
            }
            transpose(tile);
        });
        panels
    }

    fn zeros(runs: usize, length: usize, columns: usize) -> Self {
        let blocks = length.div_ceil(BLOCK_ROWS);
        let tiles = columns.div_ceil(PANEL_COLUMNS) * runs * blocks * BLOCK_TILES;
        Self { tiles: vec![AlignedTile([[0; TILE]; TILE]); tiles], runs, blocks, columns }
    }

    /// Calls `write` for each tile that holds values of the matrix, with its run, its rows in the run and its columns.
    fn fill(&mut self, length: usize, write: impl Fn(usize, Range<usize>, Range<usize>, &mut Tile) + Sync) {
        let (runs, blocks, columns) = (self.runs, self.blocks, self.columns);
        let panels = self.tiles.par_chunks_mut(runs * blocks * BLOCK_TILES);
        panels.enumerate().for_each(|(panel, tiles)| {
            for (index, tile) in tiles.iter_mut().enumerate() {
                let (block, half) = (index / BLOCK_TILES, index % BLOCK_TILES);
                let (run, row) = (block / blocks, block % blocks * BLOCK_ROWS);
                let column = panel * PANEL_COLUMNS + half * TILE;
                if column < columns {
                    let rows = row..(row + BLOCK_ROWS).min(length);
                    write(run, rows, column..(column + TILE).min(columns), &mut tile.0);
                }
            }
        });
    }

    /// Returns the number of panels.
    pub(super) fn count(&self) -> usize {
        self.columns.div_ceil(PANEL_COLUMNS)
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
        PANEL_COLUMNS.min(self.columns - panel * PANEL_COLUMNS)
    }

    /// Returns the number of columns.
    pub(crate) fn columns(&self) -> usize {
        self.columns
    }

    /// Returns the words of a panel, aligned to a cache line.
    pub(super) fn panel(&self, panel: usize) -> &[u32] {
        let size = self.runs * self.blocks * BLOCK_TILES;
        words(&self.tiles[panel * size..(panel + 1) * size])
    }
}

#[allow(unsafe_code)]
fn words(tiles: &[AlignedTile]) -> &[u32] {
    // SAFETY: a tile consists of its words, without padding.
    unsafe { slice::from_raw_parts(tiles.as_ptr().cast(), tiles.len() * TILE * TILE) }
}
