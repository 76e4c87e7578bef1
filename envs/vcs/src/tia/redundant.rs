//! Redundant writes, which change nothing: well over half of all writes.
//!
//! Programs write most registers in every line, changed or not. In a frame that is drawn [by
//! lines](super::lines) such a write has no effect, since its time does not matter, and a single comparison
//! recognises it.

use std::mem::offset_of;

use super::registers::{
    CTRLPF, CXCLR, ENABL, GRP0, GRP1, HMBL, HMOVE, HMP0, NUSIZ0, RESBL, RESP0, VSYNC, WSYNC,
};
use super::{Drawing, LINE, Tia};

/// Number of registers up to CXCLR. The others have no effect.
const REGISTERS: usize = CXCLR as usize + 1;

/// No value makes a write of the register redundant.
const NEVER_REDUNDANT: u16 = 0;

/// The values whose writes are redundant.
#[derive(Clone, Debug)]
pub(super) struct RedundantWrites {
    /// For each register the redundant value plus one, or [`NEVER_REDUNDANT`].
    values: [u16; REGISTERS],
    /// The CPU cycle from which a write ends the frame. 0 if the frame is not drawn by lines, so that access
    /// times matter.
    by_lines_until: u32,
    /// CPU cycles of the current line that had passed when the frame began.
    phase: u32,
}

impl Default for RedundantWrites {
    fn default() -> Self {
        Self { values: [NEVER_REDUNDANT; REGISTERS], by_lines_until: 0, phase: 0 }
    }
}

impl RedundantWrites {
    /// Forgets the redundant value of a register, because something else has changed the effect of writing
    /// it.
    pub(super) fn invalidate(&mut self, register: u16) {
        self.values[usize::from(register)] = NEVER_REDUNDANT;
    }

    /// Forgets the values of the motion registers, which have been cleared.
    pub(super) fn invalidate_motion(&mut self) {
        self.values[HMP0 as usize..=HMBL as usize].fill(NEVER_REDUNDANT);
    }
}

/// Returns true if the effect of writing the register depends on the time, so that no write of it is
/// redundant.
const fn is_strobe(register: u16) -> bool {
    matches!(register, VSYNC | WSYNC | RESP0..=RESBL | HMOVE..)
}

/// Offsets of the values that translated code compares before a write.
///
/// Writing a value at CPU cycle `now` has no effect if `now` is before
/// [`BY_LINES_UNTIL`](Tia::BY_LINES_UNTIL), the value is the register's [redundant
/// value](Tia::redundant_value), and the next access follows at least three cycles later. No write takes
/// longer to take effect; an access within that time would count.
impl Tia {
    /// Offset of a `u32`: the CPU cycle before which access times do not matter.
    pub(crate) const BY_LINES_UNTIL: usize =
        offset_of!(Self, redundant) + offset_of!(RedundantWrites, by_lines_until);
    /// Offset of a `u32`: the number to add to a CPU cycle of the frame for a multiple of 76 at the start of
    /// each line.
    pub(crate) const LINE_PHASE: usize = offset_of!(Self, redundant) + offset_of!(RedundantWrites, phase);

    /// Offset of a `u16`: the register's redundant value plus one. `None` if its writes are never redundant.
    pub(crate) fn redundant_value(register: u16) -> Option<usize> {
        let values = offset_of!(Self, redundant) + offset_of!(RedundantWrites, values);
        let can_be_redundant = usize::from(register) < REGISTERS && !is_strobe(register);
        can_be_redundant.then_some(values + usize::from(register) * size_of::<u16>())
    }

    /// Returns true if translated code would skip the write.
    #[cfg(test)]
    pub(crate) fn is_redundant(&self, register: u16, value: u8, now: u32) -> bool {
        let redundant = self.redundant.values.get(usize::from(register));
        now < self.redundant.by_lines_until
            && redundant.is_some_and(|&redundant| redundant == u16::from(value) + 1)
    }
}

impl Tia {
    /// Allows translated code to skip redundant writes if the frame is drawn by lines.
    pub(super) fn start_skipping(&mut self) {
        let end = self.beam.frame_start + (self.geometry.last_line + 1) * LINE;
        let by_lines = self.drawing != Drawing::Spans;
        self.redundant.by_lines_until = if by_lines { end as u32 / 3 } else { 0 };
        self.redundant.phase = (-self.beam.frame_start) as u32 / 3;
    }

    /// Forbids skipping from the end of a frame on, since access times matter again.
    pub(super) fn stop_skipping(&mut self) {
        self.redundant.by_lines_until = 0;
    }

    /// Records that writing `value` again is redundant, if it is.
    #[inline]
    pub(super) fn record_redundant(&mut self, register: u16, value: u8) {
        let is_redundant = match register {
            _ if is_strobe(register) => false,
            // The reflection may still take effect at the end of the line.
            CTRLPF => self.playfield.reflected == self.playfield.reflect,
            // The next line changes the missile's shape again.
            NUSIZ0 => !self.cosmic_ark.active,
            _ => true,
        };
        if let Some(redundant) = self.redundant.values.get_mut(usize::from(register)) {
            *redundant = if is_redundant { u16::from(value) + 1 } else { NEVER_REDUNDANT };
        }
        if matches!(register, GRP0 | GRP1 | ENABL) {
            self.record_graphics();
        }
    }

    /// Records the redundant graphics. A write of GRPx copies the other player's graphics, and GRP1 the
    /// ball's enable bit too.
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
