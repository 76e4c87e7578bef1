//! Reads of the TIA's registers: collisions, paddles and buttons.

use super::draw::Draw;
use super::spans::BySpans;
use super::{Tia, collision};
use crate::controllers::{AnaloguePin, Inputs, Wiring};

impl Tia {
    /// Reads register `address & 0x0F` at CPU cycle `now`. Bits 0 to 5 and unused addresses return the last
    /// byte on the bus (breakout and atlantis read $0E in almost every frame).
    pub(crate) fn read(
        &mut self,
        address: u16,
        now: u32,
        open_bus: u8,
        wiring: Wiring,
        inputs: &Inputs,
    ) -> u8 {
        let register = address & 0x0F;
        let bit = |set: bool| u8::from(set) << 7;
        if !self.is_logging() {
            BySpans::extend_pending(self, (now as i32).wrapping_mul(3));
        }
        let driven = match register {
            0..=7 => {
                self.catch_up(now);
                self.debt.ask_for(collision::latches_of(register) & !self.collisions);
                collision::register(self.collisions, register)
            }
            8..=11 => bit(self.charged(wiring.analogue(usize::from(register - 8), inputs), now)),
            12 | 13 => bit(!wiring.fire(usize::from(register - 12), inputs)),
            _ => 0,
        };
        driven | open_bus & 0x3F
    }

    /// Returns true if a paddle's capacitor has charged since the last discharge.
    fn charged(&self, pin: AnaloguePin, now: u32) -> bool {
        match pin {
            AnaloguePin::Paddle(0) => true,
            AnaloguePin::Open => false,
            AnaloguePin::Paddle(_) if self.dump => false,
            AnaloguePin::Paddle(resistance) => {
                let cycles = 1.6 * f64::from(resistance) * 0.01e-6 * 1.19e6;
                // Unsigned: a discharge that ended in an earlier frame wraps to a distant cycle.
                now > self.dump_end.wrapping_add(cycles as u32)
            }
        }
    }
}
