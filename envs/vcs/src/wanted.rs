//! The collisions that a program is known to read, which are the ones that its frames check for.

use crate::tia::ALL_LATCHES;

/// The collision latches that a program is known to read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WantedLatches {
    /// One bit each.
    read: u16,
    /// Number of frames for which all latches are wanted, because the program does not clear them.
    all_for: u32,
    /// The value that was last set for `all_for`.
    last_all_for: u32,
    /// Number of frames since all latches were last wanted.
    frames: u32,
}

impl WantedLatches {
    #[cfg(test)]
    pub(crate) fn all() -> Self {
        Self { read: ALL_LATCHES, ..Self::default() }
    }

    /// Returns the latches that the next frame need not check.
    pub(crate) fn unwanted(&mut self) -> u16 {
        if self.all_for > 0 {
            self.all_for -= 1;
            return 0;
        }
        self.frames = self.frames.saturating_add(1);
        ALL_LATCHES & !self.read
    }

    /// Learns from a frame that read the open latches `due`. If there are none, the program has left latches open
    /// for too long. If that happens repeatedly, all latches are wanted for more and more frames.
    pub(crate) fn learn(&mut self, due: u16) {
        const SHORTEST: u32 = 4;
        const LONGEST: u32 = 4096;
        self.read |= due;
        if due == 0 {
            let again = self.frames <= SHORTEST;
            self.all_for = if again { (2 * self.last_all_for).clamp(SHORTEST, LONGEST) } else { SHORTEST };
            self.last_all_for = self.all_for;
            self.frames = 0;
        }
    }
}
