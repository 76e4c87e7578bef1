//! The sizes of the parts of a panel.

/// Columns of a panel: two tiles.
pub(crate) const COLUMNS: usize = 32;

/// Columns of a tile.
pub(super) const TILE: usize = 16;

/// Values of a row, and rows of a panel, that are multiplied together.
pub(crate) const BLOCK: usize = 32;

/// Pairs of rows in a block.
pub(crate) const PAIRS: usize = BLOCK / 2;

/// Tiles of a block.
pub(super) const TILES: usize = COLUMNS / TILE;

/// Words of a block.
pub(super) const WORDS: usize = PAIRS * COLUMNS;
