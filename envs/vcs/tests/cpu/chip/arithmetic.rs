//! Addition, subtraction and ARR, binary and decimal.

use super::model::{C, D, Model, V};

impl Model<'_> {
    /// ARR: an AND and a rotation, with carry and overflow from an adder.
    pub(crate) fn and_rotate(&mut self, v: u8) {
        let rotated = v >> 1 | u8::from(self.flag(C)) << 7;
        self.nz(rotated);
        self.registers.a = rotated;
        if self.flag(D) {
            self.set(V, (v ^ rotated) & 0x40 != 0);
            if (v & 0x0F) + (v & 0x01) > 5 {
                self.registers.a = (rotated & 0xF0) | (((rotated & 0x0F) + 6) % 0x10);
            }
            let high = u16::from(v & 0xF0) + u16::from(v & 0x10);
            self.set(C, high > 0x50);
            if high > 0x50 {
                self.registers.a = self.registers.a.wrapping_add(0x60);
            }
        } else {
            self.set(C, rotated & 0x40 != 0);
            self.set(V, (rotated & 0x40 != 0) != (rotated & 0x20 != 0));
        }
    }

    pub(crate) fn add(&mut self, m: u8) {
        let a = self.registers.a;
        let carry = i32::from(self.flag(C));
        if !self.flag(D) {
            let sum = i32::from(a) + i32::from(m) + carry;
            let signed = i32::from(a.cast_signed()) + i32::from(m.cast_signed()) + carry;
            self.set(C, sum > 0xFF);
            self.set(V, !(-128..=127).contains(&signed));
            self.registers.a = self.nz((sum % 0x100) as u8);
            return;
        }
        let sum = from_decimal(a) + from_decimal(m) + carry;
        self.set(C, sum > 99);
        self.finish_decimal(to_decimal(sum % 256 % 100), m);
    }

    pub(crate) fn subtract(&mut self, m: u8) {
        let a = self.registers.a;
        let borrow = 1 - i32::from(self.flag(C));
        let raw = i32::from(a) - i32::from(m) - borrow;
        if !self.flag(D) {
            let signed = i32::from(a.cast_signed()) - i32::from(m.cast_signed()) - borrow;
            self.set(C, raw >= 0);
            self.set(V, !(-128..=127).contains(&signed));
            self.registers.a = self.nz(raw.rem_euclid(0x100) as u8);
            return;
        }
        let mut difference = from_decimal(a) - from_decimal(m) - borrow;
        if difference < 0 {
            difference += 100;
        }
        self.set(C, raw >= 0);
        let value = if difference < 0 {
            // Reached with digits above nine only.
            from_decimal((256 + difference) as u8) as u8
        } else {
            to_decimal(difference % 100)
        };
        self.finish_decimal(value, m);
    }

    /// Sets V from the result, in the same way for additions and subtractions in decimal mode.
    fn finish_decimal(&mut self, value: u8, m: u8) {
        let a = self.registers.a;
        self.set(V, (a ^ value) & 0x80 != 0 && (value ^ m) & 0x80 != 0);
        self.registers.a = self.nz(value);
    }
}

/// Returns the value of two decimal digits. Digits above nine have the values 10 to 15.
fn from_decimal(byte: u8) -> i32 {
    i32::from(byte / 0x10) * 10 + i32::from(byte % 0x10)
}

fn to_decimal(number: i32) -> u8 {
    (number / 10 * 0x10 + number % 10) as u8
}
