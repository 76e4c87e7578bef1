//! The collision latches that a program is known to read. Its frames skip the others.

use crate::tia::ALL_LATCHES;

/// The collision latches that a program is known to read, and the frames that skip none.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LatchesRead {
    /// One bit each.
    latches: u16,
    /// The number of coming frames that skip none, because the program does not clear the latches.
    frames_without_skips: u32,
    /// The value that was last set for `frames_without_skips`.
    last_frames_without_skips: u32,
    /// The number of frames since then that were allowed to skip latches.
    frames_with_skips: u32,
}

impl LatchesRead {
    #[cfg(test)]
    pub(crate) fn all() -> Self {
        Self { latches: ALL_LATCHES, ..Self::default() }
    }

    /// Begins a frame. Returns the latches that it skips, one bit each.
    pub(crate) fn skip(&mut self) -> u16 {
        if self.frames_without_skips > 0 {
            self.frames_without_skips -= 1;
            return 0;
        }
        self.frames_with_skips = self.frames_with_skips.saturating_add(1);
        ALL_LATCHES & !self.latches
    }

    /// Learns from a frame that had to run again: the program read the unknown latches `read` or, if there are none,
    /// left latches unknown for too long.
    pub(crate) fn learn(&mut self, read: u16) {
        self.latches |= read;
        if read == 0 {
            self.pause_skipping();
        }
    }

    /// Skips no latches for a few frames, and for more and more frames if this happens repeatedly.
    fn pause_skipping(&mut self) {
        const SHORTEST: u32 = 4;
        const LONGEST: u32 = 4096;
        let again = self.frames_with_skips <= SHORTEST;
        self.frames_without_skips =
            if again { (2 * self.last_frames_without_skips).clamp(SHORTEST, LONGEST) } else { SHORTEST };
        self.last_frames_without_skips = self.frames_without_skips;
        self.frames_with_skips = 0;
    }
}
