//! The 6532 (RIOT): timer and ports. Its 128 bytes of RAM belong to the machine; see
//! [`Console::ram`](crate::Console::ram).

use std::mem::offset_of;
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use crate::controllers::Ports;

/// Logarithms of the timer's four intervals, by the low two bits of the address that sets it.
const SHIFTS: [u8; 4] = [0, 3, 6, 10];

/// Offsets of the fields that translated code reads.
impl Riot {
    /// Offset of a `u8`: the value last written to the timer.
    pub(crate) const TIMER: usize = offset_of!(Self, timer);
    /// Offset of a `u8`: the logarithm of the timer's interval.
    pub(crate) const SHIFT: usize = offset_of!(Self, shift);
    /// Offset of a `u32`: the CPU cycle at which the timer was written.
    pub(crate) const SET_AT: usize = offset_of!(Self, set_at);
}

/// The interval timer and the data direction register of port A.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Riot {
    /// The value last written to the timer.
    timer: u8,
    /// The timer counts down once every `1 << shift` cycles.
    shift: u8,
    /// The CPU cycle at which the timer was written.
    set_at: u32,
    /// The CPU cycle of the first read after the timer expired. Until then it counts every cycle.
    expired_read_at: Option<u32>,
    /// Data direction of port A. Readable, but it never masks the port.
    ddra: u8,
}

impl Riot {
    /// Resets the chip: the timer starts at cycle 0 with an interval of 64 cycles and a value that differs
    /// from reset to reset.
    pub(crate) fn reset(&mut self, timer: u8) {
        *self = Self { timer, shift: 6, ..Self::default() };
    }

    /// Moves all times back by `cycles`.
    pub(crate) fn rebase(&mut self, cycles: u32) {
        self.set_at = self.set_at.wrapping_sub(cycles);
        self.expired_read_at = self.expired_read_at.map(|at| at.wrapping_sub(cycles));
    }

    /// Returns true if a deserialised state is valid.
    pub(crate) fn accepts(state: &Self) -> bool {
        SHIFTS.contains(&state.shift)
    }

    pub(crate) fn read(&mut self, address: u16, now: u32, ports: impl FnOnce() -> Ports) -> u8 {
        match address & 7 {
            0 => ports().a,
            1 => self.ddra,
            2 => ports().b,
            3 => 0,
            4 | 6 => self.read_timer(now),
            _ => self.flag(now),
        }
    }

    pub(crate) fn write(&mut self, address: u16, value: u8, now: u32) {
        let timer = address & 0x14 == 0x14;
        match address & 7 {
            1 => self.ddra = value,
            low @ 4..=7 if timer => {
                self.timer = value;
                self.shift = SHIFTS[usize::from(low & 3)];
                self.set_at = now;
                self.expired_read_at = None;
            }
            _ => {}
        }
    }

    /// Returns the cycles since the timer was written, without the one that starts it.
    fn elapsed(&self, now: u32) -> u32 {
        now.wrapping_sub(1).wrapping_sub(self.set_at)
    }

    /// Returns the count at the timer's interval; negative once the timer has expired.
    fn count(&self, now: u32) -> i32 {
        i32::from(self.timer).wrapping_sub((self.elapsed(now) >> self.shift) as i32).wrapping_sub(1)
    }

    /// Returns the number of consecutive reads of the timer that find a count within `counts`, the first at CPU cycle
    /// `first` and one every `period` cycles. Such reads have no effect.
    pub(crate) fn reads_within(&self, counts: RangeInclusive<u8>, first: u32, period: u32) -> u32 {
        let (lowest, highest) = (*counts.start(), *counts.end());
        if self.count(first) > highest.into() {
            return 0;
        }
        let elapsed = self.elapsed(first);
        // The first elapsed cycle with a smaller count.
        let end = u32::from(self.timer).saturating_sub(lowest.into()) << self.shift;
        if elapsed < end { (end - elapsed).div_ceil(period) } else { 0 }
    }

    /// Reads the count. After expiry the timer counts every cycle until it is first read. Then it returns to
    /// its interval, with an offset fixed by that read (`human_cannonball`, surround, `beam_rider`, hangman
    /// and klax depend on it).
    fn read_timer(&mut self, now: u32) -> u8 {
        let count = self.count(now);
        if count >= 0 {
            return count as u8;
        }
        let expiry = u32::from(self.timer) << self.shift;
        let every_cycle = (expiry as i32).wrapping_sub(self.elapsed(now) as i32).wrapping_sub(1);
        if every_cycle <= -2 && self.expired_read_at.is_none() {
            self.expired_read_at = Some(now);
        }
        match self.expired_read_at {
            None => every_cycle as u8,
            Some(at) => {
                let offset = at.wrapping_sub(self.set_at.wrapping_add(expiry));
                (count.wrapping_add(1) as u32).wrapping_sub(offset) as u8
            }
        }
    }

    /// Returns the flag in bit 7: the timer has expired and has not been read since (`king_kong`, `up_n_down` and
    /// atlantis poll it).
    fn flag(&self, now: u32) -> u8 {
        if self.count(now) < 0 && self.expired_read_at.is_none() { 0x80 } else { 0 }
    }
}
