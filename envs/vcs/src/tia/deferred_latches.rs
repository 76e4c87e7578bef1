//! Deferred latches: collisions that a frame detects only if the program reads them.
//!
//! Programs read few of the fifteen collision latches, and most clear all of them once per frame. A frame therefore
//! skips the latches that its program is not known to read. If the program reads one of them after all, the frame runs
//! again without skipping any.
//!
//! # Words
//!
//! * A frame *skips* a latch if it does not check for the latch's collision. Which latches a frame skips is decided
//!   before it begins (`crate::latches_read`).
//! * A latch is *unknown* from the start of a frame that skips it. If its bit is 1 it is set, as only CXCLR clears it.
//!   If its bit is 0, the objects may have collided nevertheless. All other latches are *known*.
//! * An unknown latch has been *read* if the program read its register while its bit was 0. The CPU then stops.
//! * The *frames* of unknown latches are those that have begun with one since the last CXCLR. The console keeps the
//!   starts of two frames, so it computes unknown latches before these starts are lost.
//!
//! # The states of a latch
//!
//! ```text
//!                 a frame that skips it begins
//!        known ----------------------------------> unknown ------------------> read
//!        ^ ^ ^                                       | |    the program reads    |
//!        | | |     CXCLR, unless the frame skips it  | |    it, and its bit is 0 |
//!        | | +---------------------------------------+ |                         |
//!        | |                                           |                         |
//!        | +-------------------------------------------+                         |
//!        |    the console computes the latches: they are                         |
//!        |    unknown for too long, or it saves its state                        |
//!        |                                                                       |
//!        +-----------------------------------------------------------------------+
//!             the console computes the latches at the start of the
//!             frame, and runs the frame again without skipping any
//! ```
//!
//! To compute the latches after a frame, the console runs that frame again without skipping any. If the frame began
//! with unknown latches, the one before it runs first (`crate::console`).

use super::Tia;

/// The latches whose values are unknown, one bit each. By default all are known.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DeferredLatches {
    /// The latches that this frame skips.
    pub(super) skipped: u16,
    /// The latches that some frame has skipped since the last CXCLR.
    unknown: u16,
    /// The number of frames since the last CXCLR that began with unknown latches.
    frames: u8,
    /// The unknown latches that the program has read in this frame.
    read: u16,
}

impl DeferredLatches {
    /// Begins a frame that skips the latches `skipped`.
    pub(super) fn start_frame(&mut self, skipped: u16) {
        let frames = if self.unknown == 0 { 0 } else { self.frames + 1 };
        *self = Self { skipped, unknown: self.unknown | skipped, frames, read: 0 };
    }

    /// Applies CXCLR: the latches that this frame does not skip are known again.
    pub(super) fn clear(&mut self) {
        self.frames = 0;
        self.unknown = self.skipped;
    }

    /// Records that the program has read `latches`, whose bits are 0.
    pub(super) fn record_read(&mut self, latches: u16) {
        self.read |= latches & self.unknown;
    }
}

impl Tia {
    /// Returns the unknown latches that the program has read in this frame, one bit each.
    pub(crate) fn unknown_latches_read(&self) -> u16 {
        self.deferred.read
    }

    /// Returns true if the program has read an unknown latch in this frame. The CPU stops, and the frame must run
    /// again.
    pub(crate) fn has_read_unknown_latch(&self) -> bool {
        self.deferred.read != 0
    }

    /// Returns the number of frames since the last CXCLR, including this one, that have begun with unknown latches.
    pub(crate) fn frames_with_unknown_latches(&self) -> u8 {
        self.deferred.frames
    }

    /// Returns the unknown latches, one bit each.
    pub(crate) fn unknown_latches(&self) -> u16 {
        self.deferred.unknown
    }

    /// Returns the latches, one bit each.
    pub(crate) fn latches(&self) -> u16 {
        self.collisions
    }

    /// Sets all latches, which are then known.
    pub(crate) fn set_latches(&mut self, latches: u16) {
        self.collisions = latches;
        self.deferred = DeferredLatches::default();
    }
}
