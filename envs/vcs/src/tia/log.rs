//! The log of a frame's writes.
//!
//! The CPU never waits for drawing. It appends each write and its time to a log. The chip applies the whole log when a
//! collision is read and when the frame ends; nothing else that the CPU can read depends on it. Translated code appends
//! without a call.
//!
//! Well over half of all writes change nothing, because programs write most registers in every line, changed or not.
//! Translated code compares each write with the register's *settled* value and skips it if nothing changes. This is
//! correct only where the order of the writes matters but their times do not. That is so in a frame that is drawn
//! [by lines](super::lines), if the next access is at least three CPU cycles later. By then every write has taken
//! effect; an earlier access could make a difference.

use std::mem::offset_of;

use super::draw::Draw;
use super::lines::ByLines;
use super::registers::{
    AUDC0, AUDV1, COLUBK, COLUP0, COLUP1, COLUPF, CTRLPF, CXCLR, ENABL, ENAM0, ENAM1, GRP0, GRP1, HMBL,
    HMCLR, HMM0, HMM1, HMOVE, HMP0, HMP1, NUSIZ0, NUSIZ1, PF0, REFP0, REFP1, RESBL, RESMP0, RESMP1, RESP0,
    RSYNC, VBLANK, VDELBL, VDELP0, VDELP1, VSYNC, WSYNC,
};
use super::spans::BySpans;
use super::spare::{Entries, LOG_CAPACITY};
use super::{Drawing, LINE, SoundRegisters, Tia, spare};

/// Number of registers, some without an effect.
const REGISTERS: usize = 64;

/// Maximum number of entries that translated code appends in a frame: one every three of the CPU cycles before
/// the last line. It does not check for space.
const APPENDED: usize = 8 * 1024 + 768;

/// Marks a register without a settled value: every write is logged.
const UNSETTLED: u16 = 0x100;

/// A write: the CPU cycle in the upper 18 bits, the register in the next six, the value in the lowest eight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry(u32);

impl Entry {
    /// Left shift of the CPU cycle.
    pub(crate) const CYCLE: u32 = 14;
    /// Left shift of the register.
    pub(crate) const REGISTER: u32 = 8;

    fn new(register: u16, value: u8, now: u32) -> Self {
        Self(now << Self::CYCLE | u32::from(register) << Self::REGISTER | u32::from(value))
    }

    pub(super) fn register(self) -> u16 {
        (self.0 >> Self::REGISTER & 0x3F) as u16
    }

    pub(super) fn value(self) -> u8 {
        self.0 as u8
    }

    pub(super) fn cycle(self) -> u32 {
        self.0 >> Self::CYCLE
    }
}

/// The writes of a frame that are not applied yet.
#[derive(Clone, Debug)]
pub(super) struct Log {
    /// `None` if no frame is being logged.
    entries: Option<Entries>,
    /// Number of entries.
    length: u32,
    /// True if one of the entries is a write of CXCLR.
    clears: bool,
    /// The CPU cycle from which a write ends the frame.
    end: u32,
    /// Added to a CPU cycle at which a wait for the next line ends, this gives a multiple of 76.
    wait_phase: u32,
    /// The CPU cycle at which some line begins. It is most likely the next line that translated code will wait for.
    next_line: u32,
    /// The settled value of each register: writing a byte with these [significant](SIGNIFICANT) bits changes nothing.
    /// With [`UNSETTLED`] set, every write is logged.
    settled: [u16; REGISTERS],
}

impl Default for Log {
    fn default() -> Self {
        Self {
            entries: None,
            length: 0,
            clears: false,
            end: 0,
            wait_phase: 0,
            next_line: 0,
            settled: [UNSETTLED; REGISTERS],
        }
    }
}

/// The bits of each register that have an effect.
pub(crate) static SIGNIFICANT: [u8; REGISTERS] = {
    let mut bits = [0xFF; REGISTERS];
    let masks = [
        (COLUP0, 0xFE),
        (COLUP1, 0xFE),
        (COLUPF, 0xFE),
        (COLUBK, 0xFE),
        (REFP0, 0x08),
        (REFP1, 0x08),
        (PF0, 0xF0),
        (ENAM0, 0x02),
        (ENAM1, 0x02),
        (ENABL, 0x02),
        (HMP0, 0xF0),
        (HMP1, 0xF0),
        (HMM0, 0xF0),
        (HMM1, 0xF0),
        (HMBL, 0xF0),
        (VDELP0, 0x01),
        (VDELP1, 0x01),
        (VDELBL, 0x01),
        (RESMP0, 0x02),
        (RESMP1, 0x02),
    ];
    let mut row = 0;
    while row < masks.len() {
        let (register, mask) = masks[row];
        bits[register as usize] = mask;
        row += 1;
    }
    bits
};

/// Returns an entry of the settled values that holds only if `holds` is true.
fn settled_if(holds: bool, value: u8) -> u16 {
    if holds { value.into() } else { UNSETTLED | u16::from(value) }
}

/// The condition on which a write is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Logging {
    /// Not at all: it has no effect.
    Never,
    /// Not at all, but its value is stored: the sound registers, which have no effect on the picture.
    Stored,
    /// By a call, because it also has immediate effects.
    ByCall,
    /// Always.
    Always,
    /// Always, and the log records that it clears the latches: CXCLR.
    AlwaysClearing,
    /// Only if it differs from the register's settled value.
    UnlessSettled,
    /// Only if the settled value of some motion register is not 0: HMCLR.
    UnlessStill,
}

/// Returns how writes of a register are logged.
pub(crate) fn logging(register: u16) -> Logging {
    match register {
        VSYNC | VBLANK => Logging::ByCall,
        CXCLR => Logging::AlwaysClearing,
        WSYNC | RSYNC => Logging::Never,
        // RESPx and the Cosmic Ark effect change the effect of NUSIZx, and the time that of CTRLPF.
        NUSIZ0 | NUSIZ1 | CTRLPF | RESP0..=RESBL | HMOVE => Logging::Always,
        HMCLR => Logging::UnlessStill,
        AUDC0..=AUDV1 => Logging::Stored,
        _ if register > CXCLR => Logging::Never,
        _ => Logging::UnlessSettled,
    }
}

/// Offsets in the chip of the fields that translated code accesses.
impl Tia {
    /// Offset of a `u32`: the CPU cycle from which a write ends the frame. Logged writes are earlier, except
    /// those made by a call.
    pub(crate) const LOG_END: usize = offset_of!(Self, log) + offset_of!(Log, end);
    /// Offset of a `u32`: added to a CPU cycle at which a wait for the next line ends, it gives a multiple of 76.
    pub(crate) const WAIT_PHASE: usize = offset_of!(Self, log) + offset_of!(Log, wait_phase);
    /// Offset of a `u32`: a CPU cycle at which a line begins.
    pub(crate) const NEXT_LINE: usize = offset_of!(Self, log) + offset_of!(Log, next_line);
    /// Offset of the pointer to the entries.
    pub(crate) const LOG_ENTRIES: usize = offset_of!(Self, log) + offset_of!(Log, entries);
    /// Offset of a `u32`: the number of entries.
    pub(crate) const LOG_LENGTH: usize = offset_of!(Self, log) + offset_of!(Log, length);

    /// Offset of a `bool`: one of the entries clears the latches.
    pub(crate) const LOG_CLEARS: usize = offset_of!(Self, log) + offset_of!(Log, clears);

    /// Returns the bits of an entry that do not depend on the time and value, and the left shift of the CPU cycle.
    pub(crate) const fn log_entry(register: u16) -> (u32, u32) {
        ((register as u32) << Entry::REGISTER, Entry::CYCLE)
    }

    /// Returns the offset of a `u16`: a register's settled value. Registers are adjacent.
    pub(crate) fn settled(register: u16) -> usize {
        offset_of!(Self, log) + offset_of!(Log, settled) + usize::from(register) * size_of::<u16>()
    }

    /// Returns the offset of a byte: a sound register.
    pub(crate) fn sound_register(register: u16) -> usize {
        offset_of!(Self, sound) + SoundRegisters::offset(register)
    }

    /// Returns the registers whose settled value no longer holds after a write changes the value of `register`: GRPx
    /// copies the other player's graphics, and GRP1 the ball's enable bit too.
    pub(crate) fn unsettles(register: u16) -> Option<u16> {
        match register {
            GRP0 | ENABL => Some(GRP1),
            GRP1 => Some(GRP0),
            _ => None,
        }
    }
}

impl Tia {
    /// Begins to log a frame if it is drawn by lines.
    pub(super) fn open_log(&mut self) {
        if self.drawing == Drawing::Spans {
            // Writes are applied at once, so the settled values will not hold.
            self.log.settled = [UNSETTLED; REGISTERS];
            return;
        }
        let end = self.beam.frame_start + (self.geometry.last_line + 1) * LINE;
        // Lines that begin within a CPU cycle are waited for until the cycle before: see `cycles_to_next_line`.
        let wait_phase = (self.beam.frame_start.wrapping_neg() as u32).div_ceil(3);
        let [first, second] = &self.players;
        let is_copied = |player: &super::Player| player.graphics == player.graphics_old;
        let log = &mut self.log;
        log.settled[usize::from(GRP0)] = settled_if(is_copied(second), first.graphics);
        let is_ball_copied = self.ball.enabled == self.ball.enabled_old;
        log.settled[usize::from(GRP1)] = settled_if(is_copied(first) && is_ball_copied, second.graphics);
        log.settled[usize::from(ENABL)] = u16::from(self.ball.enabled) << 1;
        log.end = end as u32 / 3;
        log.wait_phase = wait_phase;
        log.next_line = LINE as u32 / 3 - wait_phase;
        (log.length, log.clears) = (0, false);
        log.entries = Some(spare::take_log());
    }

    /// Applies the log and closes it.
    pub(super) fn close_log(&mut self) {
        self.apply_log();
        if let Some(entries) = self.log.entries.take() {
            spare::give_log(entries);
        }
    }

    /// Empties the log, whose memory a panic may have freed, and ends it immediately.
    pub(super) fn abandon_log(&mut self) {
        self.log.entries.get_or_insert_with(spare::take_log);
        (self.log.length, self.log.clears, self.log.end) = (0, false, 0);
    }

    /// Makes the pixels before the CPU cycle `now` pending and flushes them, with all changes logged before.
    pub(super) fn catch_up(&mut self, now: u32) {
        if self.has_read_unknown_latch() {
            return;
        }
        let clock = (now as i32).wrapping_mul(3);
        if self.is_logging() {
            self.apply_log();
            ByLines::extend_pending(self, clock);
            ByLines::flush(self);
        } else {
            BySpans::extend_pending(self, clock);
            BySpans::flush(self);
        }
    }

    /// Returns true if writes are logged instead of applied.
    pub(crate) fn is_logging(&self) -> bool {
        self.log.entries.is_some()
    }

    /// Returns the CPU cycle from which a write ends the frame that is being logged.
    pub(crate) fn log_end(&self) -> u32 {
        self.log.end
    }

    /// Appends a write. Returns false if no frame is being logged.
    #[inline]
    pub(super) fn append(&mut self, register: u16, value: u8, now: u32) -> bool {
        let log = &mut self.log;
        let Some(entries) = log.entries.as_mut() else {
            return false;
        };
        entries[log.length as usize] = Entry::new(register, value, now).0;
        log.length += 1;
        log.clears |= register == CXCLR;
        self.settle(register, value);
        if self.log.length as usize >= LOG_CAPACITY - APPENDED {
            self.apply_log();
        }
        true
    }

    /// Records the effect of a write on the settled values.
    fn settle(&mut self, register: u16, value: u8) {
        let settled = &mut self.log.settled;
        match logging(register) {
            Logging::UnlessSettled => {
                let value = value & SIGNIFICANT[usize::from(register)];
                let before = std::mem::replace(&mut settled[usize::from(register)], value.into());
                if let Some(other) = Self::unsettles(register)
                    && before as u8 != value
                {
                    settled[usize::from(other)] |= UNSETTLED;
                }
            }
            Logging::UnlessStill => {
                settled[usize::from(HMP0)..=usize::from(HMBL)].fill(0);
            }
            Logging::Always
            | Logging::AlwaysClearing
            | Logging::ByCall
            | Logging::Stored
            | Logging::Never => {}
        }
    }

    /// Applies the writes that have been logged. Once an unknown latch has been read, drops them instead: the frame
    /// will run again. Native code may log a few more writes before it stops.
    pub(super) fn apply_log(&mut self) {
        let length = std::mem::take(&mut self.log.length) as usize;
        if self.has_read_unknown_latch() {
            return;
        }
        // While the log is applied, nothing is logged.
        let Some(entries) = self.log.entries.take() else {
            return;
        };
        if std::mem::take(&mut self.log.clears) {
            // Latches that will be cleared need not be computed.
            self.collisions = u16::MAX;
        }
        let phase = self.line_phase();
        for &entry in &entries[..length] {
            let entry = Entry(entry);
            self.apply::<ByLines>(entry.register(), entry.value(), entry.cycle(), phase);
        }
        self.log.entries = Some(entries);
    }

    /// Returns true if translated code would leave out the write.
    #[cfg(test)]
    pub(crate) fn is_settled(&self, register: u16, value: u8) -> bool {
        self.is_logging()
            && match logging(register) {
                Logging::Never | Logging::Stored => true,
                Logging::UnlessSettled => {
                    let bits = value & SIGNIFICANT[usize::from(register)];
                    self.log.settled[usize::from(register)] == bits.into()
                }
                Logging::UnlessStill => {
                    let motions = &self.log.settled[usize::from(HMP0)..=usize::from(HMBL)];
                    motions.iter().all(|&motion| motion == 0)
                }
                Logging::Always | Logging::AlwaysClearing | Logging::ByCall => false,
            }
    }
}
