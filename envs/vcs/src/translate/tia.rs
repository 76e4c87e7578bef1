//! Writes of the TIA's registers, which go into its log.

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I8, I16, I32, I64};
use cranelift_codegen::ir::{InstBuilder, Value};

use super::callbacks;
use super::emit::{Emitter, TRUSTED};
use super::instruction::Instruction;
use crate::machine::Machine;
use crate::tia::registers::{HMBL, HMP0, WSYNC};
use crate::tia::{self, LINE, Logging, SIGNIFICANT, Tia};

const TIA_OFFSET: usize = offset_of!(Machine, tia);
/// CPU cycles per line.
const LINE_CYCLES: u32 = LINE as u32 / 3;

/// Returns the offset of a register's settled value in the machine.
fn settled_offset(register: u16) -> i32 {
    (TIA_OFFSET + Tia::settled(register)) as i32
}

impl Emitter<'_> {
    /// Emits the write of a register: an entry of the log, or for WSYNC the wait for the end of the line.
    pub(super) fn write_tia(&mut self, instruction: Instruction, register: u16, value: Value) {
        let wide = self.zero_extend(value);
        match tia::logging(register) {
            Logging::Never if register == WSYNC => {
                let line_end = self.line_end();
                self.set_now(line_end);
                self.interpret_next_if_late(instruction.next());
            }
            Logging::Never => {}
            Logging::Stored => {
                let offset = (TIA_OFFSET + Tia::sound_register(register)) as i32;
                self.code.ins().store(TRUSTED, value, self.machine, offset);
            }
            Logging::ByCall => {
                let register = self.const_i32(register.into());
                self.write_chip(instruction, callbacks::write, register, wide);
            }
            Logging::Always => self.append(register, wide),
            Logging::AlwaysClearing => {
                self.append(register, wide);
                let clears = self.code.ins().iconst(I8, 1);
                self.code.ins().store(TRUSTED, clears, self.machine, (TIA_OFFSET + Tia::LOG_CLEARS) as i32);
            }
            Logging::UnlessStill => self.append_unless_still(register, wide),
            Logging::UnlessSettled => self.append_unless_settled(register, wide),
        }
    }

    fn append_unless_settled(&mut self, register: u16, value: Value) {
        let [write, after] = self.create_blocks();
        let settled = self.code.ins().load(I16, TRUSTED, self.machine, settled_offset(register));
        let settled = self.code.ins().uextend(I32, settled);
        let significant = SIGNIFICANT[usize::from(register)];
        let value = match significant {
            0xFF => value,
            bits => self.code.ins().band_imm_s(value, i64::from(bits)),
        };
        let changes = self.code.ins().icmp(IntCC::NotEqual, settled, value);
        self.code.ins().brif(changes, write, &[], after, &[]);
        self.code.switch_to_block(write);
        self.append(register, value);
        let value_16 = self.code.ins().ireduce(I16, value);
        self.store_settled(register, value_16);
        if let Some(other) = Tia::unsettles(register) {
            // The upper byte is the flag `UNSETTLED`.
            let difference = self.code.ins().bxor(settled, value);
            let difference = self.code.ins().band_imm_s(difference, 0xFF);
            let changed = self.code.ins().icmp_imm_s(IntCC::NotEqual, difference, 0);
            let flag_offset = settled_offset(other) + 1;
            let flag = self.code.ins().load(I8, TRUSTED, self.machine, flag_offset);
            let flag = self.code.ins().bor(flag, changed);
            self.code.ins().store(TRUSTED, flag, self.machine, flag_offset);
        }
        self.code.ins().jump(after, &[]);
        self.code.switch_to_block(after);
    }

    /// Emits the write of HMCLR.
    fn append_unless_still(&mut self, register: u16, value: Value) {
        let [write, after] = self.create_blocks();
        // The five motion registers are adjacent.
        let four = self.code.ins().load(I64, TRUSTED, self.machine, settled_offset(HMP0));
        let last = self.code.ins().load(I16, TRUSTED, self.machine, settled_offset(HMBL));
        let last = self.code.ins().uextend(I64, last);
        let any = self.code.ins().bor(four, last);
        self.code.ins().brif(any, write, &[], after, &[]);
        self.code.switch_to_block(write);
        self.append(register, value);
        let nothing = self.code.ins().iconst(I16, 0);
        for motion in HMP0..=HMBL {
            self.store_settled(motion, nothing);
        }
        self.code.ins().jump(after, &[]);
        self.code.switch_to_block(after);
    }

    /// Emits the write of a register that is known at run time only.
    pub(super) fn write_any_register(&mut self, instruction: Instruction, address: Value, value: Value) {
        let [write, after] = self.create_blocks();
        let (address, value) = (self.zero_extend(address), self.zero_extend(value));
        let register = self.code.ins().band_imm_s(address, 0x3F);
        let register = self.code.ins().uextend(I64, register);
        let table = self.code.ins().iconst(I64, SIGNIFICANT.as_ptr() as i64);
        let entry = self.code.ins().iadd(table, register);
        let significant = self.code.ins().load(I8, TRUSTED.with_readonly(), entry, 0);
        let significant = self.zero_extend(significant);
        let bits = self.code.ins().band(value, significant);
        let offset = self.code.ins().ishl_imm_u(register, 1);
        let entry = self.code.ins().iadd(self.machine, offset);
        let settled = self.code.ins().load(I16, TRUSTED, entry, settled_offset(0));
        let settled = self.code.ins().uextend(I32, settled);
        let changes = self.code.ins().icmp(IntCC::NotEqual, settled, bits);
        self.code.ins().brif(changes, write, &[], after, &[]);
        self.code.switch_to_block(write);
        self.write_chip(instruction, callbacks::write, address, value);
        self.code.ins().jump(after, &[]);
        self.code.switch_to_block(after);
    }

    fn store_settled(&mut self, register: u16, value: Value) {
        self.code.ins().store(TRUSTED, value, self.machine, settled_offset(register));
    }

    /// Appends a write to the log.
    fn append(&mut self, register: u16, value: Value) {
        let (bits, shift) = Tia::log_entry(register);
        let now = self.now();
        let time = self.code.ins().ishl_imm_u(now, i64::from(shift));
        let entry = self.code.ins().bor_imm_s(value, i64::from(bits));
        let entry = self.code.ins().bor(entry, time);
        let entries =
            self.code.ins().load(I64, TRUSTED, self.machine, (TIA_OFFSET + Tia::LOG_ENTRIES) as i32);
        let length_offset = (TIA_OFFSET + Tia::LOG_LENGTH) as i32;
        let length = self.code.ins().load(I32, TRUSTED, self.machine, length_offset);
        let offset = self.code.ins().uextend(I64, length);
        let offset = self.code.ins().ishl_imm_u(offset, 2);
        let end = self.code.ins().iadd(entries, offset);
        self.code.ins().store(TRUSTED, entry, end, 0);
        let length = self.code.ins().iadd_imm_s(length, 1);
        self.code.ins().store(TRUSTED, length, self.machine, length_offset);
    }

    /// Returns the CPU cycle at which the next line begins: the current cycle if a line begins there.
    ///
    /// Most programs wait in every line, so the expected line is tried first. Its end does not depend on the current
    /// time, so the processor waits neither for the time nor for a division.
    fn line_end(&mut self) -> Value {
        let [other, after] = self.create_blocks();
        self.code.append_block_param(after, I32);
        let offset = (TIA_OFFSET + Tia::NEXT_LINE) as i32;
        let next = self.code.ins().load(I32, TRUSTED, self.machine, offset);
        let now = self.now();
        let left = self.code.ins().isub(next, now);
        let far = self.code.ins().icmp_imm_u(IntCC::UnsignedGreaterThanOrEqual, left, i64::from(LINE_CYCLES));
        self.code.ins().brif(far, other, &[], after, &[next.into()]);
        self.code.switch_to_block(other);
        self.code.set_cold_block(other);
        let end = self.divided_line_end(now);
        self.code.ins().jump(after, &[end.into()]);
        self.code.switch_to_block(after);
        let end = self.code.block_params(after)[0];
        let following = self.code.ins().iadd_imm_s(end, i64::from(LINE_CYCLES));
        self.code.ins().store(TRUSTED, following, self.machine, offset);
        end
    }

    /// Like [`line_end`](Self::line_end), but computed by a division.
    fn divided_line_end(&mut self, now: Value) -> Value {
        /// Multiplying a 32-bit integer by this and shifting divides it by the cycles of a line.
        const RECIPROCAL: u64 = (1_u64 << SHIFT).div_ceil(LINE_CYCLES as u64);
        const SHIFT: u32 = 38;
        let phase = self.code.ins().load(I32, TRUSTED, self.machine, (TIA_OFFSET + Tia::WAIT_PHASE) as i32);
        let shifted = self.code.ins().iadd(now, phase);
        let last = self.code.ins().iadd_imm_s(shifted, i64::from(LINE_CYCLES) - 1);
        let wide = self.code.ins().uextend(I64, last);
        let lines = self.code.ins().imul_imm_s(wide, RECIPROCAL as i64);
        let lines = self.code.ins().ushr_imm_u(lines, i64::from(SHIFT));
        let lines = self.code.ins().ireduce(I32, lines);
        let line_end = self.code.ins().imul_imm_s(lines, i64::from(LINE_CYCLES));
        self.code.ins().isub(line_end, phase)
    }
}
