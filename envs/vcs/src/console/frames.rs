//! Running of frames, and drawing of their screens, at once or later.
//!
//! A *request* runs the CPU until the program ends its frame, or for [`INSTRUCTIONS_PER_REQUEST`] instructions. In the
//! second case the frame is *unfinished*, and the next request continues it. Frames are drawn alternately on two
//! screens. Where a frame draws nothing, its screen keeps the pixels of the frame before the previous one, the *frame
//! beneath*.
//!
//! # Invariants
//!
//! Between two calls of public methods:
//!
//! * The CPU and the chips are in their state after the last request. Drawing a screen runs an earlier frame again, but
//!   returns to that state.
//! * `replays` has the start of the last frame that began on each screen, unless that frame was unfinished or drawn by
//!   spans at once.
//! * The frame of such a start ends within one request and reads no unknown latch, so a replay draws the same frame.
//! * Beneath an undrawn frame that does not cover its screen, there is no other undrawn frame.

use super::Console;
use super::latches::SKIP_NONE;
use crate::replay::FrameStart;
use crate::tia::Drawing;

/// The maximum number of instructions in one request, as in the reference.
const INSTRUCTIONS_PER_REQUEST: u32 = 25_000;

impl Console {
    /// Emulates until the program ends its frame, or for 25,000 instructions at most. The next call continues
    /// a frame that was cut off.
    pub fn run_frame(&mut self) {
        match self.former.take() {
            Some(former) => self.run_with_former_screens(former, Self::run_drawn),
            None => self.run_drawn(),
        }
    }

    fn run_drawn(&mut self) {
        if self.is_within_frame() {
            return self.continue_frame();
        }
        let start = self.run_skipping_latches(Drawing::Lines);
        let screen = self.machine.tia.current_screen();
        let beneath = self.replays.take_undrawn(screen);
        if self.machine.tia.covers_screen() {
            self.replays.set_drawn(screen, start);
        } else {
            self.redraw_by_spans(beneath, start);
        }
    }

    /// Continues an unfinished frame. It cannot be replayed, so everything before it is drawn now.
    fn continue_frame(&mut self) {
        self.draw_screens();
        self.run_request(Drawing::Spans, SKIP_NONE);
        self.replays.clear(self.machine.tia.current_screen());
    }

    /// Like [`run_frame`](Self::run_frame), but leaves the screen undrawn. Use it for frames that are not
    /// shown, such as the first ones of a frame skip. [`draw_screen`](Self::draw_screen) draws the screen
    /// afterwards if it is needed.
    pub fn run_frame_undrawn(&mut self) {
        match self.former.take() {
            Some(former) => self.run_with_former_screens(former, Self::run_undrawn),
            None => self.run_undrawn(),
        }
    }

    fn run_undrawn(&mut self) {
        if self.is_within_frame() {
            return self.continue_frame();
        }
        let start = self.run_skipping_latches(Drawing::CollisionsOnly);
        let tia = &self.machine.tia;
        let screen = tia.current_screen();
        let beneath = self.replays.take_undrawn(screen);
        if tia.is_unfinished() || beneath.is_some() && !tia.covers_screen() {
            self.redraw_by_spans(beneath, start);
        } else {
            self.replays.set_undrawn(screen, start, tia.covers_screen());
        }
    }

    /// Draws the screen of the last frame if it is undrawn. The state of the CPU and of the chips stays the same.
    pub fn draw_screen(&mut self) {
        if self.former.is_none() {
            self.draw(self.machine.tia.current_screen());
        }
    }

    /// Draws the screens that are undrawn: the last one, and the one before it, which remains visible below a short
    /// frame. Also computes the latches that are unknown. The state of the CPU and of the chips stays the same
    /// otherwise.
    pub fn draw_screens(&mut self) {
        self.compute_latches();
        for screen in [0, 1] {
            self.draw(screen);
        }
    }

    /// Draws one screen if it is undrawn. The state of the CPU and of the chips stays the same.
    pub(super) fn draw(&mut self, screen: usize) {
        if let Some(start) = self.replays.take_undrawn(screen)
            && self.replay(&start)
        {
            self.replays.set_drawn(screen, start);
        }
    }

    /// Returns true if any screen is undrawn, or if collision latches are unknown.
    pub fn has_undrawn_screens(&self) -> bool {
        self.replays.has_undrawn() || self.machine.tia.unknown_latches() != 0
    }

    /// Frees the memory of the screens, about half of a console's memory. The screens are then undrawn. A screen that
    /// cannot be drawn again is kept.
    pub fn free_screens(&mut self) {
        for screen in [0, 1] {
            if self.replays.free(screen) {
                self.machine.tia.free_screen(screen);
            }
        }
    }

    /// Runs the last frame again from its `start` and draws it by spans, because it does not cover its screen. If the
    /// frame `beneath` it is undrawn, that one is drawn first. The console is at the end of the last frame both before
    /// and after this.
    fn redraw_by_spans(&mut self, beneath: Option<FrameStart>, mut start: FrameStart) {
        if let Some(beneath) = beneath {
            self.replay(&beneath);
        }
        self.compute_start_latches(&mut start);
        start.restore(&mut self.cpu, &mut self.machine);
        self.run_request(Drawing::Spans, SKIP_NONE);
        self.replays.clear(self.machine.tia.current_screen());
    }

    /// Runs an earlier frame again to draw its screen, and then returns the console to its current state. Returns true
    /// if the frame covers the whole screen.
    fn replay(&mut self, start: &FrameStart) -> bool {
        let now = FrameStart::capture(&self.cpu, &mut self.machine);
        start.restore(&mut self.cpu, &mut self.machine);
        self.run_request(Drawing::Lines, SKIP_NONE);
        let covers = self.machine.tia.covers_screen();
        if !covers {
            start.restore(&mut self.cpu, &mut self.machine);
            self.run_request(Drawing::Spans, SKIP_NONE);
        }
        now.restore(&mut self.cpu, &mut self.machine);
        covers
    }

    /// Runs one request: begins a frame, or continues the unfinished one. A frame that begins is drawn as `drawing`
    /// says, and skips the collision latches `skipped`, one bit each.
    ///
    /// The console is then at the end of the frame. It is in mid-frame if the limit was reached, if the CPU is jammed,
    /// or if the program has read an unknown latch. A frame that is unfinished must run again from its start with
    /// [`Drawing::Spans`], unless that is `drawing`.
    pub(super) fn run_request(&mut self, drawing: Drawing, skipped: u16) {
        let machine = &mut self.machine;
        if !machine.tia.is_unfinished() {
            let phase = machine.tia.horizontal(machine.clock());
            machine.rebase();
            machine.tia.start_frame(phase, drawing, skipped);
        }
        machine.refresh_pins();
        match &self.translation {
            // Frames whose access times matter are left to the interpreter, which accounts for all of them.
            Some(translation) if machine.tia.is_logging() => {
                translation.run(&mut self.cpu, machine, INSTRUCTIONS_PER_REQUEST);
            }
            _ => self.cpu.run(machine, INSTRUCTIONS_PER_REQUEST),
        }
        machine.tia.end_request(machine.clock(), drawing == Drawing::Spans);
    }
}
