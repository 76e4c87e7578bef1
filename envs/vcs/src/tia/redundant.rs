//! Writes that change nothing: well over half of all.
//!
//! A program writes most registers in every line, whatever they hold. In a frame that is drawn
//! [line by line](super::lines) such a write has no effect at all, since the moments of accesses do not matter, so one
//! comparison recognises it.

use std::mem::offset_of;

use super::registers::{
    CTRLPF, CXCLR, ENABL, GRP0, GRP1, HMBL, HMOVE, HMP0, NUSIZ0, RESBL, RESP0, VSYNC, WSYNC,
};
use super::{Drawing, LINE, Tia};

/// Registers up to CXCLR. Those from there on leave no trace.
const REGISTERS: usize = CXCLR as usize + 1;

/// Writing the register may have an effect, whatever the value.
const NEVER_REDUNDANT: u16 = 0;

/// What is known of the values in the registers.
#[derive(Clone, Debug)]
pub(super) struct RedundantWrites {
    /// For each register the value that would change nothing, plus one; or [`NEVER_REDUNDANT`].
    values: [u16; REGISTERS],
    /// The CPU cycle from which on a write ends the frame; 0 where moments matter.
    by_lines_until: u32,
    /// CPU cycles of the present line that had passed when the frame began.
    phase: u32,
}

impl Default for RedundantWrites {
    fn default() -> Self {
        Self { values: [NEVER_REDUNDANT; REGISTERS], by_lines_until: 0, phase: 0 }
    }
}

impl RedundantWrites {
    /// Something else than a write of it has changed what writing this register does.
    pub(super) fn invalidate(&mut self, register: u16) {
        self.values[usize::from(register)] = NEVER_REDUNDANT;
    }

    /// The motion registers have been cleared.
    pub(super) fn invalidate_motion(&mut self) {
        self.values[HMP0 as usize..=HMBL as usize].fill(NEVER_REDUNDANT);
    }
}

/// Whether the effect of writing the register depends on the moment, so that no value settles it.
const fn is_strobe(register: u16) -> bool {
    matches!(register, VSYNC | WSYNC | RESP0..=RESBL | HMOVE..)
}

/// Where translated code finds what it compares before it writes.
///
/// Writing a value at CPU cycle `now` has no effect if `now` lies before [`BY_LINES_UNTIL`](Tia::BY_LINES_UNTIL), the register
/// has [settled](Tia::redundant_value) for the value, and the next access comes three cycles later at least: that is longer
/// than any write's delay, which would count for an access within it.
impl Tia {
    /// An `u32`: the CPU cycle before which no moment matters.
    pub(crate) const BY_LINES_UNTIL: usize =
        offset_of!(Self, redundant) + offset_of!(RedundantWrites, by_lines_until);
    /// An `u32`: what to add to a CPU cycle of the frame to get a number that is a multiple of 76 where a line begins.
    pub(crate) const LINE_PHASE: usize = offset_of!(Self, redundant) + offset_of!(RedundantWrites, phase);

    /// An `u16`: the value that changes nothing if it is written to the register, plus one. `None` if there never is one.
    pub(crate) fn redundant_value(register: u16) -> Option<usize> {
        let values = offset_of!(Self, redundant) + offset_of!(RedundantWrites, values);
        let settles = usize::from(register) < REGISTERS && !is_strobe(register);
        settles.then_some(values + usize::from(register) * size_of::<u16>())
    }

    /// Whether translated code would leave the write out.
    #[cfg(test)]
    pub(crate) fn is_redundant(&self, register: u16, value: u8, now: u32) -> bool {
        let redundant = self.redundant.values.get(usize::from(register));
        now < self.redundant.by_lines_until
            && redundant.is_some_and(|&redundant| redundant == u16::from(value) + 1)
    }
}

impl Tia {
    /// Begins a frame, in which moments matter or not.
    pub(super) fn start_skipping(&mut self) {
        let end = self.beam.frame_start + (self.geometry.last_line + 1) * LINE;
        let by_lines = self.drawing != Drawing::Spans;
        self.redundant.by_lines_until = if by_lines { end as u32 / 3 } else { 0 };
        self.redundant.phase = (-self.beam.frame_start) as u32 / 3;
    }

    /// From the end of a frame on moments matter.
    pub(super) fn stop_skipping(&mut self) {
        self.redundant.by_lines_until = 0;
    }

    /// Notes what a write of `value` has settled.
    #[inline]
    pub(super) fn record_redundant(&mut self, register: u16, value: u8) {
        let settles = match register {
            _ if is_strobe(register) => false,
            // The reflection may still be to come.
            CTRLPF => self.playfield.reflected == self.playfield.reflect,
            // The next line changes the missile's shape again.
            NUSIZ0 => !self.cosmic_ark.active,
            _ => true,
        };
        if let Some(redundant) = self.redundant.values.get_mut(usize::from(register)) {
            *redundant = if settles { u16::from(value) + 1 } else { NEVER_REDUNDANT };
        }
        if matches!(register, GRP0 | GRP1 | ENABL) {
            self.record_graphics();
        }
    }

    /// Writing a player's graphics copies the other player's, and player 1's the ball's enabling too.
    fn record_graphics(&mut self) {
        let [first, second] = &self.players;
        let is_copied = |player: &super::Player| player.graphics == player.graphics_old;
        let is_ball_copied = self.ball.enabled == self.ball.enabled_old;
        let value =
            |redundant: bool, graphics: u8| if redundant { u16::from(graphics) + 1 } else { NEVER_REDUNDANT };
        self.redundant.values[GRP0 as usize] = value(is_copied(second), first.graphics);
        self.redundant.values[GRP1 as usize] = value(is_copied(first) && is_ball_copied, second.graphics);
    }
}
