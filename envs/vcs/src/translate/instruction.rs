//! Decoding of instructions.

use crate::cart::Unit;
use crate::cpu::{Mode, OPCODES, Opcode, Operation};

/// An instruction of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Instruction {
    /// Its address.
    pub(super) pc: u16,
    /// The first byte, and its row in the table of opcodes.
    pub(super) code: u8,
    pub(super) opcode: Opcode,
    /// The operand's bytes as an integer; missing bytes are 0.
    pub(super) operand: u16,
}

impl Instruction {
    /// Decodes the instruction at `pc`. Returns `None` unless all of its bytes are constants of the unit.
    pub(super) fn decode(unit: &Unit, rom: &[u8], pc: u16) -> Option<Self> {
        let code = constant_after(unit, rom, pc, 0)?;
        let mut instruction = Self { pc, code, opcode: OPCODES[usize::from(code)], operand: 0 };
        let length = instruction.length();
        let low = if length > 1 { constant_after(unit, rom, pc, 1)? } else { 0 };
        let high = if length > 2 { constant_after(unit, rom, pc, 2)? } else { 0 };
        instruction.operand = u16::from_le_bytes([low, high]);
        Some(instruction)
    }

    pub(super) fn length(self) -> u16 {
        match self.opcode.mode {
            Mode::Implied | Mode::Accumulator => 1,
            Mode::Absolute | Mode::AbsoluteX | Mode::AbsoluteY | Mode::Indirect => 3,
            Mode::Immediate
            | Mode::ZeroPage
            | Mode::ZeroPageX
            | Mode::ZeroPageY
            | Mode::IndirectX
            | Mode::IndirectY
            | Mode::Relative => 2,
        }
    }

    /// Returns the address of the next instruction.
    pub(super) fn next(self) -> u16 {
        self.pc.wrapping_add(self.length())
    }

    /// Returns the return address of a subroutine call. A byte of padding follows BRK.
    pub(super) fn return_address(self) -> u16 {
        if self.opcode.operation == Operation::Brk { self.pc.wrapping_add(2) } else { self.next() }
    }

    /// Returns the target of a branch.
    pub(super) fn branch_target(self) -> u16 {
        self.next().wrapping_add_signed((self.operand as i8).into())
    }

    /// Returns true for conditional branches.
    pub(super) fn is_branch(self) -> bool {
        self.opcode.mode == Mode::Relative
    }

    /// Returns true if the next instruction is never executed directly after this one.
    pub(super) fn is_jump(self) -> bool {
        matches!(
            self.opcode.operation,
            Operation::Jmp | Operation::Jsr | Operation::Rts | Operation::Brk | Operation::Rti
        )
    }
}

/// Returns the byte `distance` bytes after the address `pc`, if it is a constant within the addresses of the unit.
fn constant_after(unit: &Unit, rom: &[u8], pc: u16, distance: u16) -> Option<u8> {
    let address = pc.checked_add(distance)?;
    let is_in_unit = address.checked_sub(unit.base).is_some_and(|offset| offset < unit.length());
    if is_in_unit { unit.constant(rom, address) } else { None }
}
