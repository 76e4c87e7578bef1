//! The 6532 (RIOT): timer and ports. Its 128 bytes of RAM are [`Console::ram`](crate::Console::ram).

use serde::{Deserialize, Serialize};

use crate::controllers::Ports;

/// The timer's four rates, by the low two bits of the address that sets it.
const SHIFTS: [u8; 4] = [0, 3, 6, 10];

/// The interval timer and the data direction register of port A.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Riot {
    /// The value last written to the timer.
    timer: u8,
    /// The timer counts once every `1 << shift` cycles.
    shift: u8,
    /// When the timer was written, in CPU cycles.
    set_at: u32,
    /// When the timer was first read after it expired; until then it counts every cycle.
    expired_read_at: Option<u32>,
    /// Readable, but it never masks port A.
    ddra: u8,
}

impl Riot {
    /// The state after a reset: divided by 64, started at cycle 0 with a value that differs from reset to reset.
    pub(crate) fn reset(&mut self, timer: u8) {
        *self = Self { timer, shift: 6, ..Self::default() };
    }

    /// Moves all times `cycles` back.
    pub(crate) fn rebase(&mut self, cycles: u32) {
        self.set_at = self.set_at.wrapping_sub(cycles);
        self.expired_read_at = self.expired_read_at.map(|at| at.wrapping_sub(cycles));
    }

    /// Whether a state that came out of a snapshot is one that the chip can be in.
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

    /// Cycles since the timer was written, not counting the one that starts it.
    fn elapsed(&self, now: u32) -> u32 {
        now.wrapping_sub(1).wrapping_sub(self.set_at)
    }

    /// The timer's divided count; negative once it has expired.
    fn count(&self, now: u32) -> i32 {
        i32::from(self.timer).wrapping_sub((self.elapsed(now) >> self.shift) as i32).wrapping_sub(1)
    }

    /// How many reads of the timer in a row, the first at CPU cycle `first` and one every `period` cycles, find a count
    /// of at least `least`. They change nothing.
    pub(crate) fn reads_before(&self, least: u8, first: u32, period: u32) -> u32 {
        let elapsed = self.elapsed(first);
        // The first elapsed cycle at which the count is smaller.
        let end = u32::from(self.timer).saturating_sub(least.into()) << self.shift;
        if elapsed < end { (end - elapsed).div_ceil(period) } else { 0 }
    }

    /// After expiry the timer runs once per cycle until it is first read, then drops back to the divided rate with an
    /// offset fixed at that read (`human_cannonball`, surround, `beam_rider`, hangman and klax read it then).
    fn read_timer(&mut self, now: u32) -> u8 {
        let count = self.count(now);
        if count >= 0 {
            return count as u8;
        }
        let whole = u32::from(self.timer) << self.shift;
        let every_cycle = (whole as i32).wrapping_sub(self.elapsed(now) as i32).wrapping_sub(1);
        if every_cycle <= -2 && self.expired_read_at.is_none() {
            self.expired_read_at = Some(now);
        }
        match self.expired_read_at {
            None => every_cycle as u8,
            Some(at) => {
                let offset = at.wrapping_sub(self.set_at.wrapping_add(whole));
                (count.wrapping_add(1) as u32).wrapping_sub(offset) as u8
            }
        }
    }

    /// Bit 7: the timer has expired and was not read since (`king_kong`, `up_n_down` and atlantis poll it).
    fn flag(&self, now: u32) -> u8 {
        if self.count(now) < 0 && self.expired_read_at.is_none() { 0x80 } else { 0 }
    }
}
