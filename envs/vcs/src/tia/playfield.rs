//! The playfield: 20 cells of 4 pixels, shown twice per line.

use serde::{Deserialize, Serialize};

use super::mask::Mask;
use super::stretch;

/// The playfield's registers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Playfield {
    /// The 20 cells of the left half, the leftmost in bit 0: PF0 from bit 4 on, PF1 from bit 7 down, PF2 from bit 0 on.
    pub(super) cells: u32,
    /// True if the right half mirrors the left one on the screen. A change of the bit in CTRLPF takes effect late in
    /// the right part of a line.
    pub(super) reflected: bool,
    /// Bit 0 of CTRLPF.
    pub(super) reflect: bool,
    /// Bit 1 of CTRLPF: the halves have the players' colours.
    pub(super) score: bool,
    /// Bit 2 of CTRLPF: playfield and ball are in front of the players.
    pub(super) priority: bool,
}

/// Number of cells in half a line.
const CELLS: u32 = 20;
/// Pixels of a cell.
pub(super) const CELL: usize = 4;

impl Playfield {
    pub(super) fn active(&self) -> bool {
        self.cells != 0
    }

    /// Returns true if the cell that contains pixel `x` is set.
    pub(super) fn cell(&self, x: usize) -> bool {
        let cell = x as u32 / 4;
        let cell = match cell.checked_sub(CELLS) {
            None => cell,
            Some(right) if self.reflected => CELLS - 1 - right,
            Some(right) => right,
        };
        self.cells >> cell & 1 == 1
    }

    /// Returns the 40 cells of a line, the leftmost in bit 0.
    #[inline]
    pub(super) fn line_cells(&self) -> u64 {
        let right = if self.reflected { self.cells.reverse_bits() >> (32 - CELLS) } else { self.cells };
        u64::from(self.cells) | u64::from(right) << CELLS
    }

    pub(super) fn mask(&self) -> Mask {
        if self.cells == 0 { Mask::EMPTY } else { mask(self.line_cells()) }
    }
}

/// Returns the pixels of the 40 cells of a line.
pub(super) fn mask(line_cells: u64) -> Mask {
    let half = |cells: u64| pixels(cells as u32 & ((1 << CELLS) - 1));
    Mask::halves(half(line_cells), half(line_cells >> CELLS))
}

/// Returns four pixels for each of 20 cells.
fn pixels(cells: u32) -> u128 {
    cells.to_le_bytes()[..3]
        .iter()
        .rev()
        .fold(0, |pixels, &byte| pixels << 32 | u128::from(stretch::FOUR_TIMES[usize::from(byte)]))
}
