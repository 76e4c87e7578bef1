//! Decoded instructions.

use crate::cart::Unit;
use crate::cpu::{Mode, OPCODES, Opcode, Operation};

/// One instruction of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Instruction {
    /// Its address.
    pub(super) pc: u16,
    /// Its first byte, and that byte's row in the table of opcodes.
    pub(super) code: u8,
    pub(super) opcode: Opcode,
    /// Its operand's bytes as a number, the missing ones 0.
    pub(super) operand: u16,
}

impl Instruction {
    /// Decodes the instruction at `pc`. Returns `None` unless all of its bytes are constants of the unit.
    pub(super) fn decode(unit: &Unit, rom: &[u8], pc: u16) -> Option<Self> {
        let byte = |distance: u16| {
            let address = pc.checked_add(distance)?;
            let here = address.checked_sub(unit.base).is_some_and(|place| place < unit.length());
            if here { unit.constant(rom, address) } else { None }
        };
        let code = byte(0)?;
        let mut instruction = Self { pc, code, opcode: OPCODES[usize::from(code)], operand: 0 };
        let length = instruction.length();
        let low = if length > 1 { byte(1)? } else { 0 };
        let high = if length > 2 { byte(2)? } else { 0 };
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

    /// The address of the instruction that follows.
    pub(super) fn next(self) -> u16 {
        self.pc.wrapping_add(self.length())
    }

    /// Where a subroutine that it calls comes back to. BRK is followed by a byte of padding.
    pub(super) fn return_address(self) -> u16 {
        if self.opcode.operation == Operation::Brk { self.pc.wrapping_add(2) } else { self.next() }
    }

    /// Where a branch leads.
    pub(super) fn branch_target(self) -> u16 {
        self.next().wrapping_add_signed((self.operand as i8).into())
    }

    /// Whether it is a conditional branch.
    pub(super) fn is_branch(self) -> bool {
        self.opcode.mode == Mode::Relative
    }

    /// Whether it never goes on to the following instruction by itself.
    pub(super) fn is_jump(self) -> bool {
        matches!(
            self.opcode.operation,
            Operation::Jmp | Operation::Jsr | Operation::Rts | Operation::Brk | Operation::Rti
        )
    }
}
