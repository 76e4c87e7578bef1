//! The ends of native code: jumps to other code, and exits to the caller.

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I16, I32, I64};
use cranelift_codegen::ir::{BlockArg, InstBuilder, Value};

use super::Slot;
use super::emit::{Emitter, INTERPRET, LOOK_UP, REGISTER_OFFSETS, TRUSTED};
use crate::cart::Mapping;
use crate::cpu::Cpu;
use crate::machine::Machine;
use crate::tia::Tia;

/// Offset of the CPU cycle at which the log ends.
const LOG_END: i32 = (offset_of!(Machine, tia) + Tia::LOG_END) as i32;

impl Emitter<'_> {
    /// Emits the only exit, which writes the registers back.
    pub(super) fn leave(&mut self) {
        self.code.switch_to_block(self.exit);
        self.code.set_cold_block(self.exit);
        let &[pc, cycles, result] = self.code.block_params(self.exit) else {
            unreachable!("three parameters")
        };
        for (variable, offset) in self.registers.bytes().into_iter().zip(REGISTER_OFFSETS) {
            let value = self.code.use_var(variable);
            self.code.ins().store(TRUSTED, value, self.cpu, offset as i32);
        }
        let pc = self.code.ins().ireduce(I16, pc);
        self.code.ins().store(TRUSTED, pc, self.cpu, offset_of!(Cpu, pc) as i32);
        self.code.ins().store(TRUSTED, cycles, self.machine, offset_of!(Machine, cycles) as i32);
        self.code.ins().return_(&[result]);
    }

    /// Leaves the current instruction to the interpreter unless it and the rest of its basic block are certain to end
    /// before the log does.
    pub(super) fn interpret_if_late(&mut self) {
        let late = self.is_late();
        self.interpret_if(late);
    }

    /// Returns true unless the instructions after the current one are certain to end before the log does.
    fn is_late(&mut self) -> Value {
        let latest = self.block_start_plus(self.position.cycles_through + self.position.max_cycles_after);
        let end = self.code.ins().load(I32, TRUSTED, self.machine, LOG_END);
        self.code.ins().icmp(IntCC::UnsignedGreaterThan, latest, end)
    }

    /// Like [`interpret_if_late`](Self::interpret_if_late), but after the current instruction, which has waited.
    pub(super) fn interpret_next_if_late(&mut self, next: u16) {
        let late = self.is_late();
        self.exit_if(late, next, self.position.cycles_through, LOOK_UP);
    }

    /// Ends a basic block with a jump to `pc`, inside or outside of the region.
    pub(super) fn jump_to(&mut self, pc: u16) {
        let cycles = self.now();
        if let Some(&block) = self.blocks.get(&pc) {
            self.code.def_var(self.registers.cycles, cycles);
            self.code.ins().jump(block, &[]);
        } else {
            let code = self.code_at(pc);
            let pc = self.const_i32(pc.into());
            self.exit_to(pc, code);
        }
    }

    /// Ends a basic block with an exit to a `pc` outside of the region, whose native code is `code`.
    pub(super) fn exit_to(&mut self, pc: Value, code: Value) {
        let cycles = self.now();
        self.code.ins().jump(self.exit, &[pc, cycles, code].map(BlockArg::from));
    }

    /// Ends a basic block with an exit to an address known at run time only.
    pub(super) fn exit_to_any(&mut self, pc: Value) {
        let code = self.code_at_any(pc);
        self.exit_to(pc, code);
    }

    /// Returns the native code at an address, or [`LOOK_UP`].
    fn code_at(&mut self, pc: u16) -> Value {
        match self.unit.code_index(pc) {
            Some(index) => {
                let slot = (self.slots)(pc).wrapping_add(index);
                let slot = self.const_pointer(slot.expose_provenance());
                self.code.ins().load(I64, TRUSTED, slot, 0)
            }
            None => self.const_pointer(LOOK_UP),
        }
    }

    /// Like [`code_at`](Self::code_at), for an address known at run time only. May be [`LOOK_UP`] even if there
    /// is native code.
    fn code_at_any(&mut self, pc: Value) -> Value {
        let look_up = self.const_pointer(LOOK_UP);
        if self.unit.mapping != Mapping::Whole {
            return look_up;
        }
        // The table covers half of the addresses that share the highest bits; the others are not in the cartridge.
        let start = (self.slots)(self.unit.base).wrapping_add(self.unit.image.start);
        let index = self.code.ins().band_imm_s(pc, 0x0FFF);
        let index = self.code.ins().uextend(I64, index);
        let offset = self.code.ins().imul_imm_u(index, size_of::<Slot>() as i64);
        let start = self.const_pointer(start.expose_provenance());
        let slot = self.code.ins().iadd(start, offset);
        let code = self.code.ins().load(I64, TRUSTED, slot, 0);
        let window = self.code.ins().band_imm_s(pc, 0xF000);
        let is_in_unit = self.code.ins().icmp_imm_u(IntCC::Equal, window, i64::from(self.unit.base & 0xF000));
        self.code.ins().select(is_in_unit, code, look_up)
    }

    /// Exits before the current instruction and leaves it to the interpreter if `condition` holds. Nothing of
    /// the instruction may have happened yet.
    pub(super) fn interpret_if(&mut self, condition: Value) {
        self.exit_if(condition, self.position.pc, self.position.cycles_before, INTERPRET);
    }

    /// Exits after the current instruction if the `result` of a callback says that the frame has ended.
    pub(super) fn stop_if(&mut self, result: Value, next: u16) {
        let stopped = self.code.ins().icmp_imm_s(IntCC::SignedLessThan, result, 0);
        self.exit_if(stopped, next, self.position.cycles_through, LOOK_UP);
    }

    /// Exits if `condition` holds. The next instruction is then at `pc`, `cycles` after the start of the basic block.
    fn exit_if(&mut self, condition: Value, pc: u16, cycles: u32, result: usize) {
        // The arguments of the exit are computed off the hot path.
        let [leave, after] = self.create_blocks();
        self.code.ins().brif(condition, leave, &[], after, &[]);
        self.code.switch_to_block(leave);
        self.code.set_cold_block(leave);
        let start = self.code.use_var(self.registers.cycles);
        let time = self.code.ins().iadd_imm_s(start, i64::from(cycles));
        let arguments = [self.const_i32(pc.into()), time, self.const_pointer(result)].map(BlockArg::from);
        self.code.ins().jump(self.exit, &arguments);
        self.code.switch_to_block(after);
    }
}
