//! Where the bytes of instructions come from.

use super::{Bus, Cpu};

/// Where the bytes of an instruction come from.
pub(super) trait Code {
    /// The byte at the program counter, which moves on.
    fn next(&mut self, cpu: &mut Cpu, bus: &mut impl Bus) -> u8;
}

/// Read from the bus one by one.
pub(super) struct Live;

impl Code for Live {
    #[inline]
    fn next(&mut self, cpu: &mut Cpu, bus: &mut impl Bus) -> u8 {
        let byte = bus.read(cpu.pc);
        cpu.pc = cpu.pc.wrapping_add(1);
        byte
    }
}

/// Known beforehand, because reading them does nothing but put them on the bus.
pub(super) struct Prefetched(pub(super) [u8; 3]);

impl Code for Prefetched {
    #[inline(always)]
    fn next(&mut self, cpu: &mut Cpu, bus: &mut impl Bus) -> u8 {
        let [byte, ..] = self.0;
        self.0.rotate_left(1);
        bus.latch(byte);
        cpu.pc = cpu.pc.wrapping_add(1);
        byte
    }
}
