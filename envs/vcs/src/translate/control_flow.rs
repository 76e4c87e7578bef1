//! Branches, jumps, subroutine calls and returns.

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value};

use super::emit::{Emitter, Registers, Unsupported};
use super::instruction::Instruction;
use super::region;
use crate::cpu::{Cpu, Opcode, Operation};

impl Emitter<'_> {
    pub(super) fn branch(&mut self, instruction: Instruction) -> Result<(), Unsupported> {
        let taken = self.condition(instruction.opcode)?;
        let [taken_block, after] = self.create_blocks();
        self.code.ins().brif(taken, taken_block, &[], after, &[]);
        let (target, next) = (instruction.branch_target(), instruction.next());
        let not_taken = self.position;
        self.code.switch_to_block(taken_block);
        // A branch that is taken lasts longer, more so to another page.
        self.position.cycles_through += if (target ^ next) & 0xFF00 == 0 { 1 } else { 2 };
        self.jump_to(target);
        self.code.switch_to_block(after);
        self.position = not_taken;
        self.jump_to(next);
        Ok(())
    }

    fn condition(&mut self, opcode: Opcode) -> Result<Value, Unsupported> {
        let Registers { negative, zero, carry, overflow, .. } = self.registers;
        let (variable, comparison) = match opcode.operation {
            Operation::Bpl => (negative, IntCC::SignedGreaterThanOrEqual),
            Operation::Bmi => (negative, IntCC::SignedLessThan),
            Operation::Bvc => (overflow, IntCC::Equal),
            Operation::Bvs => (overflow, IntCC::NotEqual),
            Operation::Bcc => (carry, IntCC::Equal),
            Operation::Bcs => (carry, IntCC::NotEqual),
            Operation::Bne => (zero, IntCC::NotEqual),
            Operation::Beq => (zero, IntCC::Equal),
            _ => return Err(Unsupported(opcode)),
        };
        let value = self.code.use_var(variable);
        Ok(self.code.ins().icmp_imm_s(comparison, value, 0))
    }

    pub(super) fn jump_indirect(&mut self, instruction: Instruction) {
        let target = self.pointer(instruction.operand as u8);
        self.interpret_unless_cartridge(target);
        self.exit_to_any(target);
    }

    /// Emits JSR, which pushes the address of its last byte.
    pub(super) fn call(&mut self, instruction: Instruction) {
        let [high, low] = instruction.next().wrapping_sub(1).to_be_bytes();
        let bytes = [self.const_i8(high), self.const_i8(low)];
        self.push_all(&bytes);
        self.jump_to(instruction.operand);
    }

    /// Emits BRK, which pushes the address after its padding byte, and the status. It does not change decimal
    /// mode.
    pub(super) fn software_interrupt(&mut self, instruction: Instruction) {
        let [high, low] = instruction.return_address().to_be_bytes();
        let bytes = [self.const_i8(high), self.const_i8(low), self.status()];
        self.push_all(&bytes);
        self.store_flag(offset_of!(Cpu, interrupt), 1);
        let target = region::break_target(self.unit, self.rom).unwrap_or_default();
        self.jump_to(target);
    }

    /// Pushes several bytes, all of them to RAM.
    fn push_all(&mut self, bytes: &[Value]) {
        let mut s = self.code.use_var(self.registers.s);
        self.interpret_unless_stack(s, 0x7F + bytes.len() as i64, 0xFF);
        for &byte in bytes {
            self.store_ram(s, byte);
            s = self.code.ins().iadd_imm_s(s, -1);
        }
        self.code.def_var(self.registers.s, s);
    }

    /// Emits RTS.
    pub(super) fn return_(&mut self) {
        let s = self.code.use_var(self.registers.s);
        self.interpret_unless_stack(s, 0x80, 0xFD);
        let low = self.code.ins().iadd_imm_s(s, 1);
        let high = self.code.ins().iadd_imm_s(s, 2);
        let last = self.load_word(low, high);
        // The instruction reads the byte before its target.
        self.interpret_unless_plain(last);
        let pc = self.code.ins().iadd_imm_s(last, 1);
        self.interpret_unless_cartridge(pc);
        self.code.def_var(self.registers.s, high);
        self.jump_to_return_address(pc);
    }

    /// Emits RTI.
    pub(super) fn return_from_interrupt(&mut self) {
        let s = self.code.use_var(self.registers.s);
        self.interpret_unless_stack(s, 0x80, 0xFC);
        let low = self.code.ins().iadd_imm_s(s, 2);
        let high = self.code.ins().iadd_imm_s(s, 3);
        let pc = self.load_word(low, high);
        self.interpret_unless_cartridge(pc);
        let status = self.code.ins().iadd_imm_s(s, 1);
        let status = self.load_ram(status);
        self.set_status(status);
        self.code.def_var(self.registers.s, high);
        self.jump_to_return_address(pc);
    }

    /// Continues at an address from the stack, most likely after one of the region's calls.
    fn jump_to_return_address(&mut self, pc: Value) {
        let cycles = self.now();
        for return_address in self.return_addresses.clone() {
            let block = self.blocks[&return_address];
            let [matching, after] = self.create_blocks();
            let equal = self.code.ins().icmp_imm_u(IntCC::Equal, pc, i64::from(return_address));
            self.code.ins().brif(equal, matching, &[], after, &[]);
            self.code.switch_to_block(matching);
            self.code.def_var(self.registers.cycles, cycles);
            self.code.ins().jump(block, &[]);
            self.code.switch_to_block(after);
        }
        self.exit_to_any(pc);
    }

    /// Leaves the instruction to the interpreter unless the stack pointer is within `first..=last`.
    pub(super) fn interpret_unless_stack(&mut self, s: Value, first: i64, last: i64) {
        let above = self.code.ins().iadd_imm_s(s, -first);
        let outside = self.code.ins().icmp_imm_u(IntCC::UnsignedGreaterThan, above, last - first);
        self.interpret_if(outside);
    }
}
