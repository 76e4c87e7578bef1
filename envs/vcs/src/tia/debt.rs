//! Collisions whose detection is deferred until the program reads them.
//!
//! Programs read few of the fifteen latches, and most clear all of them once per frame. A frame therefore checks only
//! for the collisions that its program is known to read. The other latches become *open*: their values are unknown
//! until CXCLR clears them. If the program reads an open latch after all, the console runs the frame again, and up to
//! two frames before it, and checks for all collisions (`crate::console`).

use super::Tia;

/// The latches whose values are unknown, one bit each. By default all are known.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Debt {
    /// The latches that this frame does not check.
    pub(super) unwanted: u16,
    /// The latches that were not checked for some time since the last CXCLR.
    open: u16,
    /// The number of frames since the last CXCLR that began with open latches.
    age: u8,
    /// The open latches that have been read.
    due: u16,
}

impl Debt {
    /// Begins a frame that does not check for the latches `unwanted`.
    pub(super) fn start_frame(&mut self, unwanted: u16) {
        let age = if self.open == 0 { 0 } else { self.age + 1 };
        *self = Self { unwanted, open: self.open | unwanted, age, due: 0 };
    }

    /// Forgets the open latches from before a CXCLR.
    pub(super) fn forgive(&mut self) {
        self.age = 0;
        self.open = self.unwanted;
    }

    /// Records a read of these latches, which are not known to be set.
    pub(super) fn ask_for(&mut self, latches: u16) {
        self.due |= latches & self.open;
    }
}

impl Tia {
    /// Returns the open latches that the program has read in this frame, one bit each. If there are any, the CPU stops,
    /// and the frame must run again.
    pub(crate) fn due_latches(&self) -> u16 {
        self.debt.due
    }

    /// Returns the number of frames, including this one, that have begun with open latches and have not cleared them.
    pub(crate) fn age_of_open_latches(&self) -> u8 {
        self.debt.age
    }

    /// Returns the open latches.
    pub(crate) fn open_latches(&self) -> u16 {
        self.debt.open
    }

    /// Returns the latches, one bit each.
    pub(crate) fn latches(&self) -> u16 {
        self.collisions
    }

    /// Sets all latches, which are then known.
    pub(crate) fn settle_latches(&mut self, latches: u16) {
        self.collisions = latches;
        self.debt = Debt::default();
    }
}
