//! Addressing modes.

use super::code::Code;
use super::{Bus, Cpu, Mode};

impl Cpu {
    #[inline(always)]
    pub(super) fn next_word(&mut self, bus: &mut impl Bus, code: &mut impl Code) -> u16 {
        let low = code.next(self, bus);
        let high = code.next(self, bus);
        u16::from_le_bytes([low, high])
    }

    /// Reads a word whose high byte is at the next address, across pages too. As in the reference, a pointer
    /// at $FF takes its high byte from $0100, which is the TIA.
    pub(super) fn read_word(bus: &mut impl Bus, address: u16) -> u16 {
        let low = bus.read(address);
        let high = bus.read(address.wrapping_add(1));
        u16::from_le_bytes([low, high])
    }

    /// Returns the operand's address. `crossing` is the number of cycles charged if indexing crosses a page:
    /// 1 for instructions that only read, 0 for those that write.
    #[inline(always)]
    pub(super) fn address(
        &mut self,
        bus: &mut impl Bus,
        code: &mut impl Code,
        mode: Mode,
        crossing: u32,
    ) -> u16 {
        match mode {
            Mode::ZeroPage => code.next(self, bus).into(),
            Mode::ZeroPageX => code.next(self, bus).wrapping_add(self.x).into(),
            Mode::ZeroPageY => code.next(self, bus).wrapping_add(self.y).into(),
            Mode::Absolute => self.next_word(bus, code),
            Mode::AbsoluteX => {
                let base = self.next_word(bus, code);
                index(bus, base, self.x, crossing)
            }
            Mode::AbsoluteY => {
                let base = self.next_word(bus, code);
                index(bus, base, self.y, crossing)
            }
            Mode::Indirect => {
                let pointer = self.next_word(bus, code);
                let low = bus.read(pointer);
                // The chip does not carry into the pointer's high byte.
                let high = bus.read((pointer & 0xFF00) | (pointer.wrapping_add(1) & 0x00FF));
                u16::from_le_bytes([low, high])
            }
            Mode::IndirectX => {
                let pointer = code.next(self, bus).wrapping_add(self.x);
                Self::read_word(bus, pointer.into())
            }
            Mode::IndirectY => {
                let pointer = code.next(self, bus);
                let base = Self::read_word(bus, pointer.into());
                index(bus, base, self.y, crossing)
            }
            Mode::Implied | Mode::Accumulator | Mode::Immediate | Mode::Relative => {
                unreachable!("the mode has no address")
            }
        }
    }

    #[inline(always)]
    pub(super) fn operand(&mut self, bus: &mut impl Bus, code: &mut impl Code, mode: Mode) -> u8 {
        if mode == Mode::Immediate {
            return code.next(self, bus);
        }
        let address = self.address(bus, code, mode, 1);
        take(bus, mode, address)
    }

    #[inline(always)]
    pub(super) fn load(&mut self, bus: &mut impl Bus, code: &mut impl Code, mode: Mode) -> u8 {
        let value = self.operand(bus, code, mode);
        self.flags(value)
    }

    #[inline(always)]
    pub(super) fn store(&mut self, bus: &mut impl Bus, code: &mut impl Code, mode: Mode, value: u8) {
        let address = self.address(bus, code, mode, 0);
        put(bus, mode, address, value);
    }

    /// Executes the unstable stores SHA, SHX, SHY and SHS, which AND the value with the high byte of the
    /// final address plus one.
    #[inline(always)]
    pub(super) fn store_and_high(&mut self, bus: &mut impl Bus, code: &mut impl Code, mode: Mode, value: u8) {
        let address = self.address(bus, code, mode, 0);
        let high = (address >> 8) as u8;
        bus.write(address, value & high.wrapping_add(1));
    }

    /// Executes a read-modify-write instruction, and returns the value written.
    #[inline(always)]
    pub(super) fn modify(
        &mut self,
        bus: &mut impl Bus,
        code: &mut impl Code,
        mode: Mode,
        change: fn(&mut Self, u8) -> u8,
    ) -> u8 {
        if mode == Mode::Accumulator {
            self.a = change(self, self.a);
            return self.a;
        }
        let address = self.address(bus, code, mode, 0);
        let value = take(bus, mode, address);
        let changed = change(self, value);
        put(bus, mode, address, changed);
        changed
    }
}

pub(super) fn same_page(a: u16, b: u16) -> bool {
    (a ^ b) & 0xFF00 == 0
}

#[inline(always)]
fn take(bus: &mut impl Bus, mode: Mode, address: u16) -> u8 {
    if mode.is_zero_page() { bus.read_zero_page(address as u8) } else { bus.read(address) }
}

#[inline(always)]
fn put(bus: &mut impl Bus, mode: Mode, address: u16, value: u8) {
    if mode.is_zero_page() { bus.write_zero_page(address as u8, value) } else { bus.write(address, value) }
}

#[inline]
fn index(bus: &mut impl Bus, base: u16, register: u8, crossing: u32) -> u16 {
    let address = base.wrapping_add(register.into());
    if crossing > 0 && !same_page(address, base) {
        bus.tick(crossing);
    }
    address
}
