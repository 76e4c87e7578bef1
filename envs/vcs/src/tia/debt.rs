//! Collisions that nobody has asked for yet.
//!
//! Programs read few of the fifteen latches, and most clear all of them once per frame. So a frame looks only
//! for the latches that its program is known to read. The others become *open*: their values are unknown until
//! CXCLR clears them. If the program reads an open latch after all, the console runs the frame again, and up to
//! two frames before it, and looks for all collisions (`crate::console`).

use super::Tia;

/// The latches whose values are not known, one bit each. By default all are known.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Debt {
    /// The latches that this frame does not look for.
    pub(super) unwanted: u16,
    /// The latches that some frame or part of a frame since the last CXCLR has not looked for.
    open: u16,
    /// The number of frames since the last CXCLR that began with open latches.
    age: u8,
    /// The open latches that have been read.
    due: u16,
}

impl Debt {
    /// Begins a frame that does not look for the latches `unwanted`.
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
    /// The open latches that the program has read in this frame, one bit each. If there are any, the CPU stops,
    /// and the frame must run again.
    pub(crate) fn due_latches(&self) -> u16 {
        self.debt.due
    }

    /// The number of frames, including this one, that have begun with open latches and have not cleared them.
    pub(crate) fn age_of_open_latches(&self) -> u8 {
        self.debt.age
    }

    /// The open latches.
    pub(crate) fn open_latches(&self) -> u16 {
        self.debt.open
    }

    /// The latches, one bit each.
    pub(crate) fn latches(&self) -> u16 {
        self.collisions
    }

    /// Sets all latches, which are then known.
    pub(crate) fn settle_latches(&mut self, latches: u16) {
        self.collisions = latches;
        self.debt = Debt::default();
    }
}
