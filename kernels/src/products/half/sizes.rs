//! The sizes of the parts of a panel, which is the layout of the right factor of a product (`panels`).
//!
//! They are those of Intel's tiles: a register has 16 lines of 64 bytes, so a line has 16 words, pairs of `bf16`, or 16
//! sums of 32 bits. AMD's vectors of 64 bytes are as long as a line.
//!
//! ```text
//!                      PANEL_COLUMNS
//!              +-------------+-------------+
//!              |    tile     |    tile     |  TILE lines, one for each pair of rows
//!   BLOCK_ROWS |  TILE words |  TILE words |  of the matrix: BLOCK_PAIRS
//!              +-------------+-------------+
//! ```

/// Words of a line of a tile, which are its columns, and maximum number of lines.
pub(super) const TILE: usize = 16;

/// Columns of a panel. Two tiles side by side use each value of the left factor twice while it is in a register.
pub(crate) const PANEL_COLUMNS: usize = BLOCK_TILES * TILE;

/// Tiles of a block.
pub(super) const BLOCK_TILES: usize = 2;

/// Rows of a panel that are multiplied together, and values of a row of the left factor that they are multiplied with.
/// An instruction multiplies whole blocks, so there must be zeros behind the last values of the left factor.
pub(crate) const BLOCK_ROWS: usize = 2 * BLOCK_PAIRS;

/// Pairs of rows in a block.
pub(crate) const BLOCK_PAIRS: usize = TILE;

/// Words of a block.
pub(super) const BLOCK_WORDS: usize = BLOCK_PAIRS * PANEL_COLUMNS;
