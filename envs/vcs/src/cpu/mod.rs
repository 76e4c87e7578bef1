//! The 6507: an NMOS 6502 with 13 address lines and no interrupts.
//!
//! Instructions are timed as a whole: the CPU fetches the opcode, all base cycles pass, and every further
//! access happens at the end of the instruction. There are no dummy accesses except those documented at their
//! instructions.

// The dispatcher is deliberately one large function: a call per operand would cost as much as the operand itself.
#![allow(clippy::inline_always)]

mod addressing;
mod alu;
mod arithmetic;
mod bus;
mod code;
mod execute;
mod flow;
mod opcodes;

use serde::{Deserialize, Serialize};

pub use bus::Bus;
use code::{Live, Prefetched};
pub use opcodes::{Mode, OPCODES, Opcode, Operation};

/// Bits of the status byte that PHP pushes.
mod status {
    pub(super) const CARRY: u8 = 0x01;
    pub(super) const ZERO: u8 = 0x02;
    pub(super) const INTERRUPT: u8 = 0x04;
    pub(super) const DECIMAL: u8 = 0x08;
    pub(super) const OVERFLOW: u8 = 0x40;
    pub(super) const NEGATIVE: u8 = 0x80;
    /// Break and the unused bit 5 have no storage and are always pushed as 1.
    pub(super) const ALWAYS: u8 = 0x30;
}

/// The stack page. The console decodes it to TIA (below $80) and RAM.
const STACK: u16 = 0x0100;
/// The vector of `BRK`.
pub(crate) const BREAK_VECTOR: u16 = 0xFFFE;
/// The reset vector.
const RESET_VECTOR: u16 = 0xFFFC;

/// The CPU's registers.
///
/// # Examples
///
/// ```
/// use vcs::{Bus, Cpu};
///
/// struct FlatMemory(Vec<u8>);
///
/// impl Bus for FlatMemory {
///     fn read(&mut self, address: u16) -> u8 {
///         self.0[usize::from(address)]
///     }
///     fn write(&mut self, address: u16, value: u8) {
///         self.0[usize::from(address)] = value;
///     }
///     fn tick(&mut self, _cycles: u32) {}
/// }
///
/// let mut memory = FlatMemory(vec![0; 0x10000]);
/// memory.0[0x1000..0x1004].copy_from_slice(&[0xA9, 0x2A, 0x85, 0x80]); // LDA #42, STA $80
/// let mut cpu = Cpu::default();
/// cpu.pc = 0x1000;
/// cpu.run(&mut memory, 2);
/// assert_eq!((cpu.a, memory.0[0x80]), (42, 42));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cpu {
    /// Accumulator.
    pub a: u8,
    /// Index register X.
    pub x: u8,
    /// Index register Y.
    pub y: u8,
    /// Stack pointer.
    pub s: u8,
    /// Program counter.
    pub pc: u16,
    /// Carry flag.
    pub carry: bool,
    /// Decimal mode flag.
    pub decimal: bool,
    /// Interrupt disable flag. It has no effect, because the 6507 has no interrupts.
    pub interrupt: bool,
    /// Overflow flag.
    pub overflow: bool,
    /// The negative flag is bit 7 of this byte.
    pub(crate) negative: u8,
    /// The zero flag is set when this byte is 0.
    pub(crate) zero: u8,
    /// True after a JAM opcode. The CPU then does nothing until the next reset.
    pub jammed: bool,
}

impl Cpu {
    /// Clears the registers and loads the program counter from the reset vector, low byte first.
    pub fn reset(&mut self, bus: &mut impl Bus) {
        *self = Self { s: 0xFF, zero: 1, ..Self::default() };
        self.pc = Self::read_word(bus, RESET_VECTOR);
    }

    /// Returns the status byte that `PHP` pushes.
    pub fn status(&self) -> u8 {
        let bit = |set: bool, mask: u8| if set { mask } else { 0 };
        status::ALWAYS
            | bit(self.carry, status::CARRY)
            | bit(self.zero == 0, status::ZERO)
            | bit(self.interrupt, status::INTERRUPT)
            | bit(self.decimal, status::DECIMAL)
            | bit(self.overflow, status::OVERFLOW)
            | (self.negative & status::NEGATIVE)
    }

    /// Sets the flags from a status byte as `PLP` does.
    pub fn set_status(&mut self, byte: u8) {
        self.carry = byte & status::CARRY != 0;
        self.zero = !byte & status::ZERO;
        self.interrupt = byte & status::INTERRUPT != 0;
        self.decimal = byte & status::DECIMAL != 0;
        self.overflow = byte & status::OVERFLOW != 0;
        self.negative = byte & status::NEGATIVE;
    }

    /// Executes up to `instructions` instructions. Stops earlier if the bus asks for it or the CPU is jammed.
    pub fn run(&mut self, bus: &mut impl Bus, instructions: u32) {
        for _ in 0..instructions {
            if self.jammed {
                return;
            }
            match bus.plain_code(self.pc) {
                Some(bytes) => self.execute_next(bus, &mut Prefetched(bytes)),
                None => self.execute_next(bus, &mut Live),
            }
            if bus.stops() {
                return;
            }
        }
    }

    /// Executes one instruction. A jammed CPU does nothing.
    pub fn step(&mut self, bus: &mut impl Bus) {
        self.run(bus, 1);
    }
}
