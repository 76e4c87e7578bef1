//! Writes of the TIA's registers. Most change nothing, which is recognised without a call.

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I16, I32, I64};
use cranelift_codegen::ir::{Block, InstBuilder, Value};

use super::callbacks;
use super::emit::{Emitter, TRUSTED};
use super::instruction::Instruction;
use crate::machine::Machine;
use crate::tia::{LINE, Tia};

const TIA_OFFSET: usize = offset_of!(Machine, tia);
const OPEN_BUS_OFFSET: i32 = offset_of!(Machine, open_bus) as i32;
/// CPU cycles per line.
const LINE_CYCLES: u32 = LINE as u32 / 3;

impl Emitter<'_> {
    /// Emits the write of a register, or the wait of WSYNC for the end of the line.
    pub(super) fn write_tia(&mut self, instruction: Instruction, register: u16, value: Value) {
        self.code.ins().store(TRUSTED, value, self.machine, OPEN_BUS_OFFSET);
        let Some(function) = callbacks::register_write(register) else {
            return self.wait(instruction);
        };
        let value = self.zero_extend(value);
        let after = self.code.create_block();
        if let Some(redundant) = Tia::redundant_value(register) {
            self.skip_if_redundant(redundant, value, after);
        }
        let result = self.call_register(function, value);
        self.stop_if(result, instruction.next());
        self.code.ins().jump(after, &[]);
        self.code.switch_to_block(after);
    }

    /// Jumps to `after` if the write of `value` is redundant and the frame is drawn by lines.
    fn skip_if_redundant(&mut self, redundant: usize, value: Value, after: Block) {
        let [by_lines, write] = std::array::from_fn(|_| self.code.create_block());
        let redundant = self.code.ins().load(I16, TRUSTED, self.machine, (TIA_OFFSET + redundant) as i32);
        let redundant = self.code.ins().uextend(I32, redundant);
        let marked = self.code.ins().iadd_imm_s(value, 1);
        let changes = self.code.ins().icmp(IntCC::NotEqual, redundant, marked);
        self.code.ins().brif(changes, write, &[], by_lines, &[]);
        self.code.switch_to_block(by_lines);
        let is_by_lines = self.is_by_lines();
        self.code.ins().brif(is_by_lines, after, &[], write, &[]);
        self.code.switch_to_block(write);
    }

    fn is_by_lines(&mut self) -> Value {
        let now = self.now();
        let until =
            self.code.ins().load(I32, TRUSTED, self.machine, (TIA_OFFSET + Tia::BY_LINES_UNTIL) as i32);
        self.code.ins().icmp(IntCC::UnsignedLessThan, now, until)
    }

    /// Emits WSYNC, which holds the CPU until the end of the line.
    fn wait(&mut self, instruction: Instruction) {
        let [by_lines, exact, after] = std::array::from_fn(|_| self.code.create_block());
        let is_by_lines = self.is_by_lines();
        self.code.ins().brif(is_by_lines, by_lines, &[], exact, &[]);
        self.code.switch_to_block(exact);
        self.code.set_cold_block(exact);
        let nothing = self.int(0);
        self.write_chip(instruction, callbacks::wait, nothing, nothing);
        self.code.ins().jump(after, &[]);
        self.code.switch_to_block(by_lines);
        let line_end = self.line_end();
        self.set_now(line_end);
        self.code.ins().jump(after, &[]);
        self.code.switch_to_block(after);
    }

    /// The CPU cycle at which the next line begins. The current cycle if a line begins there.
    fn line_end(&mut self) -> Value {
        /// Multiplying a 32-bit integer by this and shifting divides it by the cycles of a line.
        const RECIPROCAL: u64 = (1_u64 << SHIFT).div_ceil(LINE_CYCLES as u64);
        const SHIFT: u32 = 38;
        let phase = self.code.ins().load(I32, TRUSTED, self.machine, (TIA_OFFSET + Tia::LINE_PHASE) as i32);
        let now = self.now();
        let place = self.code.ins().iadd(now, phase);
        let last = self.code.ins().iadd_imm_s(place, i64::from(LINE_CYCLES) - 1);
        let wide = self.code.ins().uextend(I64, last);
        let lines = self.code.ins().imul_imm_s(wide, RECIPROCAL as i64);
        let lines = self.code.ins().ushr_imm_u(lines, i64::from(SHIFT));
        let lines = self.code.ins().ireduce(I32, lines);
        let line_end = self.code.ins().imul_imm_s(lines, i64::from(LINE_CYCLES));
        self.code.ins().isub(line_end, phase)
    }
}
