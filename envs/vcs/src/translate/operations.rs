//! Effects of instructions on registers and flags.

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I8;
use cranelift_codegen::ir::{InstBuilder, Value};
use cranelift_frontend::Variable;

use super::emit::{Emitter, TRUSTED, Unsupported};
use super::instruction::Instruction;
use crate::cpu::{Cpu, Mode, Opcode, Operation};

impl Emitter<'_> {
    /// Emits an instruction that does not jump.
    pub(super) fn instruction(&mut self, instruction: Instruction) -> Result<(), Unsupported> {
        use Operation as O;
        let (a, x, y, s) = (self.registers.a, self.registers.x, self.registers.y, self.registers.s);
        match instruction.opcode.operation {
            O::Lda => self.load(instruction, a)?,
            O::Ldx => self.load(instruction, x)?,
            O::Ldy => self.load(instruction, y)?,
            O::Lax => {
                self.load(instruction, a)?;
                self.copy(a, x);
            }
            O::Sta => self.store_register(instruction, a)?,
            O::Stx => self.store_register(instruction, x)?,
            O::Sty => self.store_register(instruction, y)?,
            O::Sax => {
                let (a, x) = (self.code.use_var(a), self.code.use_var(x));
                let value = self.code.ins().band(a, x);
                self.store(instruction, value)?;
            }
            O::Tax => self.transfer(a, x),
            O::Tay => self.transfer(a, y),
            O::Tsx => self.transfer(s, x),
            O::Txa => self.transfer(x, a),
            O::Tya => self.transfer(y, a),
            O::Txs => self.copy(x, s),
            O::Inx => self.count(x, 1),
            O::Iny => self.count(y, 1),
            O::Dex => self.count(x, -1),
            O::Dey => self.count(y, -1),
            O::And | O::Ora | O::Eor => self.logic(instruction)?,
            O::Bit => self.bit(instruction)?,
            O::Adc | O::Sbc => self.add(instruction)?,
            O::Cmp => self.compare(instruction, a)?,
            O::Cpx => self.compare(instruction, x)?,
            O::Cpy => self.compare(instruction, y)?,
            O::Inc | O::Dec | O::Asl | O::Lsr | O::Rol | O::Ror => self.modify(instruction)?,
            O::Clc => self.set_flag(self.registers.carry, 0),
            O::Sec => self.set_flag(self.registers.carry, 1),
            O::Clv => self.set_flag(self.registers.overflow, 0),
            O::Cld => self.store_flag(offset_of!(Cpu, decimal), 0),
            O::Sed => self.store_flag(offset_of!(Cpu, decimal), 1),
            O::Cli => self.store_flag(offset_of!(Cpu, interrupt), 0),
            O::Sei => self.store_flag(offset_of!(Cpu, interrupt), 1),
            O::Pha => {
                let value = self.code.use_var(a);
                self.push(instruction, value);
            }
            O::Php => {
                let value = self.status();
                self.push(instruction, value);
            }
            O::Pla => {
                let value = self.pull(instruction);
                self.set(a, value);
            }
            O::Plp => {
                let value = self.pull(instruction);
                self.set_status(value);
            }
            O::Nop => {}
            _ => return Err(Unsupported(instruction.opcode)),
        }
        Ok(())
    }

    fn set_flags(&mut self, value: Value) {
        self.code.def_var(self.registers.negative, value);
        self.code.def_var(self.registers.zero, value);
    }

    fn set(&mut self, register: Variable, value: Value) {
        self.code.def_var(register, value);
        self.set_flags(value);
    }

    fn copy(&mut self, from: Variable, to: Variable) {
        let value = self.code.use_var(from);
        self.code.def_var(to, value);
    }

    fn transfer(&mut self, from: Variable, to: Variable) {
        let value = self.code.use_var(from);
        self.set(to, value);
    }

    fn count(&mut self, register: Variable, step: i64) {
        let value = self.code.use_var(register);
        let value = self.code.ins().iadd_imm_s(value, step);
        self.set(register, value);
    }

    fn load(&mut self, instruction: Instruction, register: Variable) -> Result<(), Unsupported> {
        let value = self.operand(instruction)?;
        self.set(register, value);
        Ok(())
    }

    fn store_register(&mut self, instruction: Instruction, register: Variable) -> Result<(), Unsupported> {
        let value = self.code.use_var(register);
        self.store(instruction, value)
    }

    fn set_flag(&mut self, flag: Variable, value: u8) {
        let value = self.const_i8(value);
        self.code.def_var(flag, value);
    }

    /// Sets a rarely changed flag, which lives in memory.
    pub(super) fn store_flag(&mut self, offset: usize, value: u8) {
        let value = self.const_i8(value);
        self.code.ins().store(TRUSTED, value, self.cpu, offset as i32);
    }

    fn load_flag(&mut self, offset: usize) -> Value {
        self.code.ins().load(I8, TRUSTED, self.cpu, offset as i32)
    }

    fn logic(&mut self, instruction: Instruction) -> Result<(), Unsupported> {
        let m = self.operand(instruction)?;
        let a = self.code.use_var(self.registers.a);
        let value = match instruction.opcode.operation {
            Operation::And => self.code.ins().band(a, m),
            Operation::Ora => self.code.ins().bor(a, m),
            Operation::Eor => self.code.ins().bxor(a, m),
            _ => return Err(Unsupported(instruction.opcode)),
        };
        self.set(self.registers.a, value);
        Ok(())
    }

    fn bit(&mut self, instruction: Instruction) -> Result<(), Unsupported> {
        let m = self.operand(instruction)?;
        let a = self.code.use_var(self.registers.a);
        let zero = self.code.ins().band(a, m);
        let overflow = self.code.ins().ushr_imm_u(m, 6);
        let overflow = self.code.ins().band_imm_s(overflow, 1);
        self.code.def_var(self.registers.negative, m);
        self.code.def_var(self.registers.zero, zero);
        self.code.def_var(self.registers.overflow, overflow);
        Ok(())
    }

    /// Emits ADC or SBC. The interpreter executes them in decimal mode.
    fn add(&mut self, instruction: Instruction) -> Result<(), Unsupported> {
        let decimal = self.load_flag(offset_of!(Cpu, decimal));
        self.interpret_if(decimal);
        let m = self.operand(instruction)?;
        let m = if instruction.opcode.operation == Operation::Sbc { self.code.ins().bnot(m) } else { m };
        let a = self.code.use_var(self.registers.a);
        let carry = self.code.use_var(self.registers.carry);
        let (wide_a, wide_m, wide_carry) =
            (self.zero_extend(a), self.zero_extend(m), self.zero_extend(carry));
        let sum = self.code.ins().iadd(wide_a, wide_m);
        let sum = self.code.ins().iadd(sum, wide_carry);
        let value = self.code.ins().ireduce(I8, sum);
        let carry = self.code.ins().ushr_imm_u(sum, 8);
        let carry = self.code.ins().ireduce(I8, carry);
        let (from_a, from_m) = (self.code.ins().bxor(a, value), self.code.ins().bxor(m, value));
        let both = self.code.ins().band(from_a, from_m);
        let overflow = self.code.ins().ushr_imm_u(both, 7);
        self.code.def_var(self.registers.carry, carry);
        self.code.def_var(self.registers.overflow, overflow);
        self.set(self.registers.a, value);
        Ok(())
    }

    fn compare(&mut self, instruction: Instruction, register: Variable) -> Result<(), Unsupported> {
        let m = self.operand(instruction)?;
        let value = self.code.use_var(register);
        let carry = self.code.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, value, m);
        let difference = self.code.ins().isub(value, m);
        self.code.def_var(self.registers.carry, carry);
        self.set_flags(difference);
        Ok(())
    }

    /// Emits a read-modify-write instruction.
    fn modify(&mut self, instruction: Instruction) -> Result<(), Unsupported> {
        let Instruction { opcode, operand, .. } = instruction;
        let address = match opcode.mode {
            Mode::Accumulator => {
                let value = self.code.use_var(self.registers.a);
                let value = self.modified(opcode, value)?;
                self.code.def_var(self.registers.a, value);
                return Ok(());
            }
            Mode::ZeroPageX => {
                let address = self.zero_page_indexed(instruction)?;
                let outside = self.code.ins().icmp_imm_s(IntCC::SignedGreaterThanOrEqual, address, 0);
                self.interpret_if(outside);
                address
            }
            Mode::ZeroPage | Mode::Absolute => {
                let value = self.read_known(operand, opcode.mode);
                let value = self.modified(opcode, value)?;
                self.write_known(instruction, operand, value);
                return Ok(());
            }
            _ => return Err(Unsupported(opcode)),
        };
        let value = self.load_ram(address);
        let value = self.modified(opcode, value)?;
        self.store_ram(address, value);
        Ok(())
    }

    fn modified(&mut self, opcode: Opcode, value: Value) -> Result<Value, Unsupported> {
        let carry_in = self.code.use_var(self.registers.carry);
        let (result, carry) = match opcode.operation {
            Operation::Inc => (self.code.ins().iadd_imm_s(value, 1), None),
            Operation::Dec => (self.code.ins().iadd_imm_s(value, -1), None),
            Operation::Asl | Operation::Rol => {
                let shifted = self.code.ins().ishl_imm_u(value, 1);
                let carry = self.code.ins().ushr_imm_u(value, 7);
                let rotates = opcode.operation == Operation::Rol;
                (if rotates { self.code.ins().bor(shifted, carry_in) } else { shifted }, Some(carry))
            }
            Operation::Lsr | Operation::Ror => {
                let shifted = self.code.ins().ushr_imm_u(value, 1);
                let carry = self.code.ins().band_imm_s(value, 1);
                let top = self.code.ins().ishl_imm_u(carry_in, 7);
                let rotates = opcode.operation == Operation::Ror;
                (if rotates { self.code.ins().bor(shifted, top) } else { shifted }, Some(carry))
            }
            _ => return Err(Unsupported(opcode)),
        };
        if let Some(carry) = carry {
            self.code.def_var(self.registers.carry, carry);
        }
        self.set_flags(result);
        Ok(result)
    }

    fn push(&mut self, instruction: Instruction, value: Value) {
        let s = self.code.use_var(self.registers.s);
        let below = self.code.ins().iadd_imm_s(s, -1);
        self.code.def_var(self.registers.s, below);
        self.write_zero_page(instruction, s, value);
    }

    /// Returns the byte that PLA and PLP pull. They read the stack twice; breakout pulls from the TIA to move the stack
    /// pointer.
    fn pull(&mut self, instruction: Instruction) -> Value {
        let s = self.code.use_var(self.registers.s);
        let above = self.code.ins().iadd_imm_s(s, 1);
        self.code.def_var(self.registers.s, above);
        let opcode = self.const_i32(instruction.code.into());
        let dummy = self.read_zero_page(s, opcode);
        let dummy = self.zero_extend(dummy);
        self.read_zero_page(above, dummy)
    }

    /// Sets the flags from a status byte.
    pub(super) fn set_status(&mut self, status: Value) {
        let [carry, interrupt, decimal, overflow] = [0, 2, 3, 6].map(|index| self.bit_of(status, index));
        let inverted = self.code.ins().bnot(status);
        let zero = self.code.ins().band_imm_s(inverted, 2);
        let negative = self.code.ins().band_imm_s(status, i64::from(0x80_u8 as i8));
        self.code.def_var(self.registers.carry, carry);
        self.code.def_var(self.registers.overflow, overflow);
        self.code.def_var(self.registers.zero, zero);
        self.code.def_var(self.registers.negative, negative);
        for (value, offset) in [(interrupt, offset_of!(Cpu, interrupt)), (decimal, offset_of!(Cpu, decimal))]
        {
            self.code.ins().store(TRUSTED, value, self.cpu, offset as i32);
        }
    }

    /// Returns a bit of a byte: 0 or 1.
    fn bit_of(&mut self, byte: Value, index: i64) -> Value {
        let shifted = self.code.ins().ushr_imm_u(byte, index);
        self.code.ins().band_imm_s(shifted, 1)
    }

    /// Returns the status byte that PHP pushes.
    pub(super) fn status(&mut self) -> Value {
        let negative = self.code.use_var(self.registers.negative);
        let negative = self.code.ins().band_imm_s(negative, i64::from(0x80_u8 as i8));
        let zero = self.code.use_var(self.registers.zero);
        let zero = self.code.ins().icmp_imm_s(IntCC::Equal, zero, 0);
        let bits = [
            (self.code.use_var(self.registers.carry), 0),
            (zero, 1),
            (self.load_flag(offset_of!(Cpu, interrupt)), 2),
            (self.load_flag(offset_of!(Cpu, decimal)), 3),
            (self.code.use_var(self.registers.overflow), 6),
        ];
        let mut status = self.code.ins().bor_imm_s(negative, 0x30);
        for (bit, index) in bits {
            let bit = self.code.ins().ishl_imm_u(bit, index);
            status = self.code.ins().bor(status, bit);
        }
        status
    }
}
