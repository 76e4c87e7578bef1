//! Control flow and the stack.

use super::addressing::same_page;
use super::code::{Code, Live};
use super::{BREAK_VECTOR, Bus, Cpu, Mode, STACK};

impl Cpu {
    #[inline(always)]
    pub(super) fn branch(&mut self, bus: &mut impl Bus, code: &mut impl Code, taken: bool) {
        let distance = code.next(self, bus) as i8;
        if taken {
            let target = self.pc.wrapping_add_signed(distance.into());
            bus.tick(if same_page(target, self.pc) { 1 } else { 2 });
            self.pc = target;
        }
    }

    #[inline(always)]
    pub(super) fn jmp(&mut self, bus: &mut impl Bus, code: &mut impl Code, mode: Mode) {
        self.pc = self.address(bus, code, mode, 0);
    }

    #[inline(always)]
    pub(super) fn jsr(&mut self, bus: &mut impl Bus, code: &mut impl Code) {
        let low = code.next(self, bus);
        self.peek_stack(bus);
        let [return_high, return_low] = self.pc.to_be_bytes();
        self.push(bus, return_high);
        self.push_again(bus, return_low);
        let high = code.next(self, bus);
        self.pc = u16::from_le_bytes([low, high]);
    }

    pub(super) fn rts(&mut self, bus: &mut impl Bus) {
        self.peek_stack(bus);
        self.pc = self.pull_word(bus);
        Live.next(self, bus);
    }

    pub(super) fn rti(&mut self, bus: &mut impl Bus) {
        self.peek_stack(bus);
        let status = self.pull(bus);
        self.set_status(status);
        self.pc = self.pull_word(bus);
    }

    /// Executes BRK; pong and breakout use it as a two-byte call. It does not change decimal mode.
    #[inline(always)]
    pub(super) fn brk(&mut self, bus: &mut impl Bus, code: &mut impl Code) {
        code.next(self, bus);
        let [high, low] = self.pc.to_be_bytes();
        self.push(bus, high);
        self.push_again(bus, low);
        self.push_again(bus, self.status());
        self.interrupt = true;
        self.pc = Self::read_word(bus, BREAK_VECTOR);
    }

    /// Reads the stack page, as pulls and `JSR` do before they change the stack pointer.
    pub(super) fn peek_stack(&self, bus: &mut impl Bus) {
        bus.read(STACK | u16::from(self.s));
    }

    pub(super) fn push(&mut self, bus: &mut impl Bus, value: u8) {
        bus.write(STACK | u16::from(self.s), value);
        self.s = self.s.wrapping_sub(1);
    }

    pub(super) fn push_again(&mut self, bus: &mut impl Bus, value: u8) {
        bus.write_again(STACK | u16::from(self.s), value);
        self.s = self.s.wrapping_sub(1);
    }

    pub(super) fn pull(&mut self, bus: &mut impl Bus) -> u8 {
        self.s = self.s.wrapping_add(1);
        bus.read(STACK | u16::from(self.s))
    }

    pub(super) fn pull_word(&mut self, bus: &mut impl Bus) -> u16 {
        let low = self.pull(bus);
        let high = self.pull(bus);
        u16::from_le_bytes([low, high])
    }
}
