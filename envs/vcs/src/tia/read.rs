//! Reads of the TIA's registers: collisions, paddles and buttons.

use super::draw::Draw;
use super::spans::BySpans;
use super::{Tia, collision};
use crate::controllers::{AnaloguePin, Inputs, Wiring};

/// Number of registers from INPT0 on. They read the pins of four paddles and two fire buttons; the last two have no
/// pin.
pub(crate) const PINS: usize = 8;
const FIRST_BUTTON: usize = 4;
const UNCONNECTED: usize = 6;
/// A CPU cycle that is never reached.
const NEVER: u32 = u32::MAX;

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
                self.deferred.record_read(collision::latches_of(register) & !self.collisions);
                collision::register(self.collisions, register)
            }
            _ => bit(now >= self.pin_set_from(register - 8, wiring, inputs)),
        };
        driven | open_bus & 0x3F
    }

    /// Returns the CPU cycle from which the pin of a register from INPT0 on is set, until the discharge of the paddles
    /// begins or ends.
    pub(crate) fn pin_set_from(&self, pin: u16, wiring: Wiring, inputs: &Inputs) -> u32 {
        let pin = usize::from(pin);
        match pin {
            0..FIRST_BUTTON => self.charged_from(wiring.analogue(pin, inputs)),
            FIRST_BUTTON..UNCONNECTED if !wiring.fire(pin - FIRST_BUTTON, inputs) => 0,
            _ => NEVER,
        }
    }

    /// Returns the CPU cycle from which a paddle's capacitor is charged.
    fn charged_from(&self, pin: AnaloguePin) -> u32 {
        match pin {
            AnaloguePin::Paddle(0) => 0,
            AnaloguePin::Open => NEVER,
            AnaloguePin::Paddle(_) if self.dump => NEVER,
            AnaloguePin::Paddle(resistance) => {
                let cycles = 1.6 * f64::from(resistance) * 0.01e-6 * 1.19e6;
                // A discharge that ended in an earlier frame wraps to a distant cycle.
                self.dump_end.wrapping_add(cycles as u32).saturating_add(1)
            }
        }
    }
}
