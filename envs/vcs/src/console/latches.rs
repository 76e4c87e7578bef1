//! Frames that skip collision latches, and the computation of latches that are unknown. `tia/deferred_latches.rs`
//! defines these terms.

use super::Console;
#[cfg(test)]
use crate::latches_read::LatchesRead;
use crate::replay::FrameStart;
use crate::tia::Drawing;

/// The set of latches that a frame skips if it computes all of them: one bit for each skipped latch.
pub(super) const SKIP_NONE: u16 = 0;

/// The maximum number of successive frames that begin with unknown latches. Computing latches needs the starts of these
/// frames and of the one before, and the console keeps the starts of two frames.
const MAX_FRAMES_WITH_UNKNOWN_LATCHES: u8 = 1;

impl Console {
    /// Begins and runs a frame, and returns its start. The console is then at the end of the frame, or in mid-frame if
    /// the frame was cut off.
    ///
    /// The frame skips the latches that the program is not known to read. If the program reads one of them, or leaves
    /// latches unknown for too long, the latches at the start of the frame are computed. The frame then runs again
    /// from there without skipping any. The start that is returned has these latches.
    pub(super) fn run_skipping_latches(&mut self, drawing: Drawing) -> FrameStart {
        let mut start = FrameStart::capture(&self.cpu, &mut self.machine);
        let skipped = self.latches_read.skip();
        self.run_request(drawing, skipped);
        let tia = &self.machine.tia;
        let read = tia.unknown_latches_read();
        if read != 0 || tia.frames_with_unknown_latches() > MAX_FRAMES_WITH_UNKNOWN_LATCHES {
            self.latches_read.learn(read);
            self.compute_start_latches(&mut start);
            start.restore(&mut self.cpu, &mut self.machine);
            self.run_request(drawing, SKIP_NONE);
        }
        start
    }

    /// Computes the latches that are unknown at the start of the last frame, and stores them in that `start`. The
    /// console stays where it is.
    pub(super) fn compute_start_latches(&mut self, start: &mut FrameStart) {
        if start.has_unknown_latches() {
            let screen_of_frame_before = 1 - self.machine.tia.current_screen();
            start.set_latches(self.latches_after(screen_of_frame_before));
        }
    }

    /// Computes the latches that are unknown now, after the last frame.
    pub(super) fn compute_latches(&mut self) {
        if self.machine.tia.unknown_latches() != 0 {
            let latches = self.latches_after(self.machine.tia.current_screen());
            self.machine.tia.set_latches(latches);
        }
    }

    /// Returns all latches after the frame that was last drawn on `screen`. That frame runs again to compute them, and
    /// then the console returns to its current state.
    ///
    /// The start of that frame is missing after a reset, after a state was restored, and if the frame was unfinished or
    /// drawn by spans. No latch was unknown then, so callers do not ask for such a frame. It has no latches to compute:
    /// the current ones are returned.
    fn latches_after(&mut self, screen: usize) -> u16 {
        let Some(mut start) = self.replays.start(screen).cloned() else {
            return self.machine.tia.latches();
        };
        let now = FrameStart::capture(&self.cpu, &mut self.machine);
        start.restore(&mut self.cpu, &mut self.machine);
        self.run_request(Drawing::CollisionsOnly, SKIP_NONE);
        if self.machine.tia.frames_with_unknown_latches() > 0 {
            // The frame before it left latches unknown. That frame began with known latches, so this recurses once.
            start.set_latches(self.latches_after(1 - screen));
            start.restore(&mut self.cpu, &mut self.machine);
            self.run_request(Drawing::CollisionsOnly, SKIP_NONE);
        }
        let latches = self.machine.tia.latches();
        now.restore(&mut self.cpu, &mut self.machine);
        latches
    }

    /// Skips no latches from now on.
    #[cfg(test)]
    pub(super) fn skip_no_latches(&mut self) {
        self.latches_read = LatchesRead::all();
    }

    /// Forgets which latches the program reads.
    #[cfg(test)]
    pub(super) fn forget_latches_read(&mut self) {
        self.latches_read = LatchesRead::default();
    }
}
