//! Arithmetic, shifts and comparisons with their flags.

use super::code::Code;
use super::{Bus, Cpu, Mode, alu};

impl Cpu {
    #[inline]
    pub(super) fn flags(&mut self, value: u8) -> u8 {
        self.negative = value;
        self.zero = value;
        value
    }

    #[inline(always)]
    pub(super) fn and(&mut self, bus: &mut impl Bus, code: &mut impl Code, mode: Mode) {
        let m = self.operand(bus, code, mode);
        self.a = self.flags(self.a & m);
    }

    pub(super) fn adc(&mut self, m: u8) {
        let add = if self.decimal { alu::add_decimal } else { alu::add };
        self.take_sum(add(self.a, m, self.carry));
    }

    pub(super) fn sbc(&mut self, m: u8) {
        let subtract = if self.decimal { alu::subtract_decimal } else { alu::subtract };
        self.take_sum(subtract(self.a, m, self.carry));
    }

    pub(super) fn take_sum(&mut self, sum: alu::Sum) {
        self.a = self.flags(sum.value);
        self.carry = sum.carry;
        self.overflow = sum.overflow;
    }

    #[inline(always)]
    pub(super) fn compare(&mut self, bus: &mut impl Bus, code: &mut impl Code, mode: Mode, register: u8) {
        let m = self.operand(bus, code, mode);
        self.compare_with(register, m);
    }

    pub(super) fn compare_with(&mut self, register: u8, m: u8) {
        self.carry = register >= m;
        self.flags(register.wrapping_sub(m));
    }

    pub(super) fn inc(&mut self, value: u8) -> u8 {
        self.flags(value.wrapping_add(1))
    }

    pub(super) fn dec(&mut self, value: u8) -> u8 {
        self.flags(value.wrapping_sub(1))
    }

    pub(super) fn asl(&mut self, value: u8) -> u8 {
        self.carry = value & 0x80 != 0;
        self.flags(value << 1)
    }

    pub(super) fn lsr(&mut self, value: u8) -> u8 {
        self.carry = value & 0x01 != 0;
        self.flags(value >> 1)
    }

    pub(super) fn rol(&mut self, value: u8) -> u8 {
        let carry_in = u8::from(self.carry);
        self.carry = value & 0x80 != 0;
        self.flags(value << 1 | carry_in)
    }

    pub(super) fn ror(&mut self, value: u8) -> u8 {
        let carry_in = u8::from(self.carry) << 7;
        self.carry = value & 0x01 != 0;
        self.flags(value >> 1 | carry_in)
    }

    #[inline(always)]
    pub(super) fn arr(&mut self, bus: &mut impl Bus, code: &mut impl Code, mode: Mode) {
        let v = self.a & self.operand(bus, code, mode);
        let rotated = v >> 1 | u8::from(self.carry) << 7;
        self.a = self.flags(rotated);
        if !self.decimal {
            self.carry = rotated & 0x40 != 0;
            self.overflow = (rotated >> 6 ^ rotated >> 5) & 1 != 0;
            return;
        }
        self.overflow = (v ^ rotated) & 0x40 != 0;
        if (v & 0x0F) + (v & 0x01) > 5 {
            self.a = self.a & 0xF0 | self.a.wrapping_add(6) & 0x0F;
        }
        self.carry = u16::from(v & 0xF0) + u16::from(v & 0x10) > 0x50;
        if self.carry {
            self.a = self.a.wrapping_add(0x60);
        }
    }
}
