//! Running of frames, and drawing of their screens, at once or later.

use super::Console;
use super::latches::NO_LATCHES;
use crate::replay::FrameStart;
use crate::tia::Drawing;

/// Maximum number of instructions that one request for a frame may execute.
const INSTRUCTIONS_PER_REQUEST: u32 = 25_000;

impl Console {
    /// Emulates until the program ends its frame, or for 25,000 instructions at most. The next call continues
    /// a frame that was cut off.
    pub fn run_frame(&mut self) {
        match self.former.take() {
            Some(former) => self.run_under(former, Self::run_drawn),
            None => self.run_drawn(),
        }
    }

    fn run_drawn(&mut self) {
        if self.is_within_frame() {
            self.draw_screens();
            self.request(Drawing::Spans, NO_LATCHES);
            return self.replays.clear(self.machine.tia.current_screen());
        }
        let start = self.run(Drawing::Lines);
        let screen = self.machine.tia.current_screen();
        let beneath = self.replays.take_undrawn(screen);
        if self.machine.tia.covers_screen() {
            self.replays.set_drawn(screen, start);
        } else {
            self.draw_over(beneath, start);
        }
    }

    /// Like [`run_frame`](Self::run_frame), but leaves the screen undrawn. Use it for frames that are not
    /// shown, such as the first ones of a frame skip. [`draw_screen`](Self::draw_screen) draws the screen
    /// afterwards if it is needed.
    pub fn run_frame_undrawn(&mut self) {
        match self.former.take() {
            Some(former) => self.run_under(former, Self::run_undrawn),
            None => self.run_undrawn(),
        }
    }

    fn run_undrawn(&mut self) {
        if self.is_within_frame() {
            return self.run_drawn();
        }
        let start = self.run(Drawing::CollisionsOnly);
        let tia = &self.machine.tia;
        let screen = tia.current_screen();
        let beneath = self.replays.take_undrawn(screen);
        if tia.is_unfinished() || beneath.is_some() && !tia.covers_screen() {
            self.draw_over(beneath, start);
        } else {
            self.replays.set_undrawn(screen, start, tia.covers_screen());
        }
    }

    /// Draws the screen of the last frame if it is undrawn.
    pub fn draw_screen(&mut self) {
        if self.former.is_none() {
            self.draw(self.machine.tia.current_screen());
        }
    }

    /// Draws the screens that are undrawn: the last one, and the one before it, which remains visible below a short
    /// frame. Also computes the latches that are unknown.
    pub fn draw_screens(&mut self) {
        self.compute_latches();
        for screen in [0, 1] {
            self.draw(screen);
        }
    }

    /// Draws one screen if it is undrawn.
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

    /// Draws the frame that began at `start`. Where it draws nothing, the screen shows an older frame,
    /// `beneath`, which is drawn first if it is undrawn.
    fn draw_over(&mut self, beneath: Option<FrameStart>, mut start: FrameStart) {
        if let Some(beneath) = beneath {
            self.replay(&beneath);
        }
        self.compute_start_latches(&mut start);
        start.restore(&mut self.cpu, &mut self.machine);
        self.request(Drawing::Spans, NO_LATCHES);
        self.replays.clear(self.machine.tia.current_screen());
    }

    /// Replays an earlier frame to draw its screen. Returns true if the frame covers the whole screen.
    fn replay(&mut self, start: &FrameStart) -> bool {
        let now = FrameStart::capture(&self.cpu, &mut self.machine);
        start.restore(&mut self.cpu, &mut self.machine);
        self.request(Drawing::Lines, NO_LATCHES);
        let covers = self.machine.tia.covers_screen();
        if !covers {
            start.restore(&mut self.cpu, &mut self.machine);
            self.request(Drawing::Spans, NO_LATCHES);
        }
        now.restore(&mut self.cpu, &mut self.machine);
        covers
    }

    /// Runs the CPU until the frame ends or the limit is reached. A frame that remains unfinished must be replayed with
    /// [`Drawing::Spans`] unless that is `drawing`. The frame skips the collision latches `skipped`, one bit each.
    pub(super) fn request(&mut self, drawing: Drawing, skipped: u16) {
        let machine = &mut self.machine;
        if machine.tia.is_unfinished() {
            machine.tia.resume_frame();
        } else {
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
