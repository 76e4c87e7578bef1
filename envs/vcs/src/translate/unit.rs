//! Code that stays where it is: the largest piece of ROM that is switched as a whole.

use std::ops::Range;

use crate::cpu::{Mode, OPCODES, Opcode, Operation};

/// A piece of the ROM image as the CPU sees it while it executes code there. What it holds never changes, and a
/// program that runs in it can tell from an address alone what a read of it yields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unit {
    /// The CPU address of its first byte.
    pub(crate) base: u16,
    /// Its bytes: 1, 2 or 4 kilobytes of the image.
    pub(crate) image: Range<usize>,
    /// Addresses in the 4 KB window that it fills.
    pub(crate) window: Range<u16>,
    /// Addresses in the window where reading does nothing but yield the byte, in the cartridge as a whole.
    pub(crate) plain: Range<u16>,
    /// Where other reads of the window go.
    pub(crate) mapping: Mapping,
}

/// How the byte at an address of the window that is only known at run time is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mapping {
    /// The unit fills the window, several times if it is small.
    Whole,
    /// Through the table of slices.
    Slices,
    /// A13 of the address chooses the half of the image (robotank).
    ByA13,
}

/// One instruction of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Instruction {
    /// Its address.
    pub(crate) pc: u16,
    /// Its first byte, and that byte's row in the table of opcodes.
    pub(crate) code: u8,
    pub(crate) opcode: Opcode,
    /// Its operand's bytes as a number, the missing ones 0.
    pub(crate) operand: u16,
}

impl Instruction {
    pub(crate) fn length(self) -> u16 {
        match self.opcode.mode {
            Mode::Implied | Mode::Accumulator => 1,
            Mode::Absolute | Mode::AbsoluteX | Mode::AbsoluteY | Mode::Indirect => 3,
            _ => 2,
        }
    }

    /// The address of the instruction that follows.
    pub(crate) fn next(self) -> u16 {
        self.pc.wrapping_add(self.length())
    }

    /// Where a subroutine that it calls comes back to. BRK is followed by a byte of padding.
    pub(crate) fn return_address(self) -> u16 {
        if self.opcode.operation == Operation::Brk { self.pc.wrapping_add(2) } else { self.next() }
    }

    /// Where a branch leads.
    pub(crate) fn branch_target(self) -> u16 {
        self.next().wrapping_add_signed((self.operand as i8).into())
    }

    /// Whether it is a conditional branch.
    pub(crate) fn is_branch(self) -> bool {
        self.opcode.mode == Mode::Relative
    }

    /// Whether it never goes on to the following instruction by itself.
    pub(crate) fn is_jump(self) -> bool {
        matches!(
            self.opcode.operation,
            Operation::Jmp | Operation::Jsr | Operation::Rts | Operation::Brk | Operation::Rti
        )
    }
}

impl Unit {
    /// The byte that a read of `address` yields, if that is known beforehand and reading does nothing else.
    pub(crate) fn constant(&self, rom: &[u8], address: u16) -> Option<u8> {
        if address & 0x1000 == 0 {
            return None;
        }
        let place = address & 0xFFF;
        let offset = match self.mapping {
            Mapping::ByA13 => by_a13(address),
            _ if self.plain.contains(&place) && self.window.contains(&place) => {
                self.image.start + usize::from(place - self.window.start) % self.image.len()
            }
            _ => return None,
        };
        rom.get(offset).copied()
    }

    /// The instruction at `pc`, if all of its bytes are constants of this unit.
    pub(crate) fn decode(&self, rom: &[u8], pc: u16) -> Option<Instruction> {
        let byte = |distance: u16| {
            let address = pc.checked_add(distance)?;
            let here = address.checked_sub(self.base).is_some_and(|place| place < self.length());
            if here { self.constant(rom, address) } else { None }
        };
        let code = byte(0)?;
        let mut instruction = Instruction { pc, code, opcode: OPCODES[usize::from(code)], operand: 0 };
        let length = instruction.length();
        let low = if length > 1 { byte(1)? } else { 0 };
        let high = if length > 2 { byte(2)? } else { 0 };
        instruction.operand = u16::from_le_bytes([low, high]);
        Some(instruction)
    }

    /// Addresses from the base on that belong to the unit.
    fn length(&self) -> u16 {
        self.window.end - self.window.start
    }
}

/// The offset in the image of an address of an FE cartridge.
pub(crate) fn by_a13(address: u16) -> usize {
    let bank = if address & 0x2000 == 0 { 0x1000 } else { 0 };
    bank + usize::from(address) % 0x1000
}
