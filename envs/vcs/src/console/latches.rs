//! Frames that skip collision latches, and computing those that are unknown. `tia/deferred_latches.rs` explains the
//! words.

use super::Console;
#[cfg(test)]
use crate::latches_read::LatchesRead;
use crate::replay::FrameStart;
use crate::tia::Drawing;

/// The set of latches of a frame that skips none.
pub(super) const NO_LATCHES: u16 = 0;

/// The maximum number of frames that may begin with unknown latches: the starts of older frames are not kept.
const MOST_FRAMES_WITH_UNKNOWN_LATCHES: u8 = 1;

impl Console {
    /// Begins and runs a frame. Returns its start.
    ///
    /// The frame skips the latches that the program is not known to read. If the program reads one of them, or leaves
    /// latches unknown for too long, the latches at the start of the frame are computed. The frame then runs again
    /// without skipping any.
    pub(super) fn run(&mut self, drawing: Drawing) -> FrameStart {
        let mut start = FrameStart::capture(&self.cpu, &mut self.machine);
        let skipped = self.latches_read.skip();
        self.request(drawing, skipped);
        let tia = &self.machine.tia;
        let read = tia.unknown_latches_read();
        if read != 0 || tia.frames_with_unknown_latches() > MOST_FRAMES_WITH_UNKNOWN_LATCHES {
            self.latches_read.learn(read);
            self.compute_start_latches(&mut start);
            start.restore(&mut self.cpu, &mut self.machine);
            self.request(drawing, NO_LATCHES);
        }
        start
    }

    /// Computes the latches that are unknown at the start of the current frame.
    pub(super) fn compute_start_latches(&mut self, start: &mut FrameStart) {
        if start.has_unknown_latches() {
            let latches = self.latches_after(1 - self.machine.tia.current_screen());
            start.set_latches(latches);
        }
    }

    /// Computes the latches that are unknown now.
    pub(super) fn compute_latches(&mut self) {
        if self.machine.tia.unknown_latches() != 0 {
            let latches = self.latches_after(self.machine.tia.current_screen());
            self.machine.tia.set_latches(latches);
        }
    }

    /// Returns the latches after the last frame of a screen, or the current ones if the start of that frame was not
    /// kept.
    fn latches_after(&mut self, screen: usize) -> u16 {
        let Some(mut start) = self.replays.start(screen).cloned() else {
            return self.machine.tia.latches();
        };
        let now = FrameStart::capture(&self.cpu, &mut self.machine);
        start.restore(&mut self.cpu, &mut self.machine);
        self.request(Drawing::CollisionsOnly, NO_LATCHES);
        if self.machine.tia.frames_with_unknown_latches() > 0 {
            // The frame before it left latches unknown. That frame began with known latches, so this recurses once.
            start.set_latches(self.latches_after(1 - screen));
            start.restore(&mut self.cpu, &mut self.machine);
            self.request(Drawing::CollisionsOnly, NO_LATCHES);
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
