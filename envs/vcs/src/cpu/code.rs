//! Sources of an instruction's bytes.

use super::{Bus, Cpu};

/// A source of an instruction's bytes.
pub(super) trait Code {
    /// Returns the byte at the program counter, and increments the program counter.
    fn next(&mut self, cpu: &mut Cpu, bus: &mut impl Bus) -> u8;
}

/// Reads each byte from the bus.
pub(super) struct Live;

impl Code for Live {
    #[inline]
    fn next(&mut self, cpu: &mut Cpu, bus: &mut impl Bus) -> u8 {
        let byte = bus.read(cpu.pc);
        cpu.pc = cpu.pc.wrapping_add(1);
        byte
    }
}

/// Bytes read in advance, which is possible because reading them only puts them on the bus.
pub(super) struct Prefetched(pub(super) [u8; 3]);

impl Code for Prefetched {
    #[inline(always)]
    fn next(&mut self, cpu: &mut Cpu, bus: &mut impl Bus) -> u8 {
        let [byte, second, third] = self.0;
        self.0 = [second, third, byte];
        bus.latch(byte);
        cpu.pc = cpu.pc.wrapping_add(1);
        byte
    }
}
