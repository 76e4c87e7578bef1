//! Code generation for a region in cranelift's intermediate representation: registers, control flow and
//! exits.

use std::collections::BTreeMap;
use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I8, I16, I32, I64};
use cranelift_codegen::ir::{
    AbiParam, Block, BlockArg, Function, InstBuilder, MemFlagsData, SigRef, Signature, Type, Value,
};
use cranelift_codegen::isa::TargetIsa;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext, Variable};

use super::instruction::Instruction;
use super::region::{self, BasicBlock, Region};
use super::wait::TimerWait;
use super::{Slot, callbacks};
use crate::cart::{Mapping, Unit};
use crate::cpu::{Cpu, Mode, Opcode, Operation};
use crate::machine::Machine;
use crate::tia::Tia;

/// A result of translated code: the interpreter executes the next instruction.
pub(super) const INTERPRET: usize = 1;

/// Loads and stores of the machine's state cannot trap.
pub(super) const TRUSTED: MemFlagsData = MemFlagsData::trusted();

/// The CPU's registers and two counters as variables. Registers have 8 bits, counters 32.
#[derive(Clone, Copy)]
pub(super) struct Registers {
    pub(super) a: Variable,
    pub(super) x: Variable,
    pub(super) y: Variable,
    pub(super) s: Variable,
    pub(super) negative: Variable,
    pub(super) zero: Variable,
    pub(super) carry: Variable,
    pub(super) overflow: Variable,
    /// CPU cycles at the start of the basic block.
    pub(super) cycles: Variable,
}

/// Signatures of the functions in `callbacks`.
#[derive(Clone, Copy)]
pub(super) struct Signatures {
    /// A pointer and three integers.
    pub(super) access: SigRef,
}

/// Error for an instruction that the translator does not support. The interpreter executes it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unsupported(pub(super) Opcode);

/// The current instruction's position in its basic block.
#[derive(Clone, Copy, Default)]
struct Position {
    pc: u16,
    /// Cycles from the start of the basic block to the start of the instruction.
    elapsed: u32,
    /// Maximum number of cycles that the instructions after this one take, unless they wait.
    rest: u32,
}

pub(super) struct Emitter<'a> {
    pub(super) code: FunctionBuilder<'a>,
    pub(super) unit: &'a Unit,
    pub(super) rom: &'a [u8],
    pub(super) cpu: Value,
    pub(super) machine: Value,
    pub(super) registers: Registers,
    pub(super) signatures: Signatures,
    /// Returns the first slot of the table for an address.
    slots: &'a dyn Fn(u16) -> *const Slot,
    /// Cycles from the start of the basic block to the end of the current instruction.
    pub(super) elapsed: u32,
    position: Position,
    blocks: BTreeMap<u16, Block>,
    returns: Vec<u16>,
    exit: Block,
}

/// Offsets of the registers in `Cpu`.
const OFFSETS: [usize; 8] = [
    offset_of!(Cpu, a),
    offset_of!(Cpu, x),
    offset_of!(Cpu, y),
    offset_of!(Cpu, s),
    offset_of!(Cpu, negative),
    offset_of!(Cpu, zero),
    offset_of!(Cpu, carry),
    offset_of!(Cpu, overflow),
];

/// Offset of the CPU cycle at which the log ends.
const LOG_END: i32 = (offset_of!(Machine, tia) + Tia::LOG_END) as i32;

impl Registers {
    fn bytes(&self) -> [Variable; 8] {
        [self.a, self.x, self.y, self.s, self.negative, self.zero, self.carry, self.overflow]
    }
}

/// Emits the function of a region. The function takes the CPU and the machine, whose writes are being logged. It
/// returns the native code to run next, from a slot; [`INTERPRET`] if the interpreter must execute the next
/// instruction; or 0 if the caller must look up the next code.
pub(super) fn emit(
    region: &Region,
    unit: &Unit,
    rom: &[u8],
    isa: &dyn TargetIsa,
    slots: &dyn Fn(u16) -> *const Slot,
) -> Result<Function, Unsupported> {
    let pointer = isa.pointer_type();
    let convention = isa.default_call_conv();
    let signature = |parameters: &[Type], result: Type| {
        let mut signature = Signature::new(convention);
        signature.params.extend(parameters.iter().map(|&kind| AbiParam::new(kind)));
        signature.returns.push(AbiParam::new(result));
        signature
    };
    let mut function = Function::new();
    function.signature = signature(&[pointer, pointer], pointer);
    let mut context = FunctionBuilderContext::new();
    let mut code = FunctionBuilder::new(&mut function, &mut context);
    let signatures = Signatures { access: code.import_signature(signature(&[pointer, I32, I32, I32], I32)) };
    let start = code.create_block();
    code.append_block_params_for_function_params(start);
    code.switch_to_block(start);
    let &[cpu, machine] = code.block_params(start) else { unreachable!("two parameters") };
    let mut byte = || code.declare_var(I8);
    let registers = Registers {
        a: byte(),
        x: byte(),
        y: byte(),
        s: byte(),
        negative: byte(),
        zero: byte(),
        carry: byte(),
        overflow: byte(),
        cycles: code.declare_var(I32),
    };
    let exit = code.create_block();
    for kind in [I32, I32, pointer] {
        code.append_block_param(exit, kind);
    }
    let blocks = region.blocks.keys().map(|&pc| (pc, code.create_block())).collect();
    let mut emitter = Emitter {
        code,
        unit,
        rom,
        cpu,
        machine,
        registers,
        signatures,
        slots,
        elapsed: 0,
        position: Position::default(),
        blocks,
        returns: region.returns(),
        exit,
    };
    emitter.load_registers();
    let entry = emitter.blocks[&region.entry];
    emitter.code.ins().jump(entry, &[]);
    for (&pc, block) in &region.blocks {
        emitter.basic_block(pc, block)?;
    }
    emitter.leave();
    emitter.code.seal_all_blocks();
    emitter.code.finalize(isa.frontend_config());
    Ok(function)
}

/// Returns an upper bound on the cycles of a basic block whose instructions do not wait: the cycles of each opcode,
/// plus two for crossing pages and taking a branch.
fn rest(instructions: &[Instruction]) -> u32 {
    instructions.iter().map(|instruction| u32::from(instruction.opcode.cycles) + 2).sum()
}

impl Emitter<'_> {
    fn load_registers(&mut self) {
        for (variable, offset) in self.registers.bytes().into_iter().zip(OFFSETS) {
            let value = self.code.ins().load(I8, TRUSTED, self.cpu, offset as i32);
            self.code.def_var(variable, value);
        }
        let cycles = self.code.ins().load(I32, TRUSTED, self.machine, offset_of!(Machine, cycles) as i32);
        self.code.def_var(self.registers.cycles, cycles);
    }

    /// Emits the only exit, which writes the registers back.
    fn leave(&mut self) {
        self.code.switch_to_block(self.exit);
        self.code.set_cold_block(self.exit);
        let &[pc, cycles, result] = self.code.block_params(self.exit) else {
            unreachable!("three parameters")
        };
        for (variable, offset) in self.registers.bytes().into_iter().zip(OFFSETS) {
            let value = self.code.use_var(variable);
            self.code.ins().store(TRUSTED, value, self.cpu, offset as i32);
        }
        let pc = self.code.ins().ireduce(I16, pc);
        self.code.ins().store(TRUSTED, pc, self.cpu, offset_of!(Cpu, pc) as i32);
        self.code.ins().store(TRUSTED, cycles, self.machine, offset_of!(Machine, cycles) as i32);
        self.code.ins().return_(&[result]);
    }

    fn basic_block(&mut self, pc: u16, basic_block: &BasicBlock) -> Result<(), Unsupported> {
        let block = self.blocks[&pc];
        self.code.switch_to_block(block);
        self.elapsed = 0;
        self.position = Position { pc, elapsed: 0, rest: rest(&basic_block.instructions) };
        if let Some(wait) = TimerWait::of(pc, basic_block) {
            self.skip_rounds(&wait);
        }
        self.interpret_if_late();
        for (index, &instruction) in basic_block.instructions.iter().enumerate() {
            let rest = rest(&basic_block.instructions[index + 1..]);
            self.position = Position { pc: instruction.pc, elapsed: self.elapsed, rest };
            self.elapsed += u32::from(instruction.opcode.cycles);
            if instruction.is_branch() {
                return self.branch(instruction);
            }
            match (instruction.opcode.operation, instruction.opcode.mode) {
                (Operation::Jmp, Mode::Absolute) => self.jump_to(instruction.operand),
                (Operation::Jmp, Mode::Indirect) => self.jump_indirect(instruction),
                (Operation::Jsr, _) => self.call(instruction),
                (Operation::Rts, _) => self.return_(),
                (Operation::Brk, _) => self.software_interrupt(instruction),
                (Operation::Rti, _) => self.return_from_interrupt(),
                _ => {
                    self.instruction(instruction)?;
                    if !region::is_special(self.unit, self.rom, instruction) {
                        continue;
                    }
                    let (next, unknown) = (self.int(instruction.next().into()), self.pointer_sized(0));
                    self.exit_to(next, unknown);
                }
            }
            return Ok(());
        }
        self.jump_to(basic_block.next);
        Ok(())
    }

    /// Skips the iterations of a wait loop that are certain not to be the last.
    fn skip_rounds(&mut self, wait: &TimerWait) {
        let cycles = self.code.use_var(self.registers.cycles);
        let first_read = self.code.ins().iadd_imm_s(cycles, i64::from(wait.read_after));
        let function =
            self.code.ins().iconst(I64, callbacks::idle_rounds as callbacks::IdleRounds as usize as i64);
        let counts = u32::from_le_bytes([*wait.counts.start(), *wait.counts.end(), 0, 0]);
        let (counts, period) = (self.int(counts), self.int(wait.period));
        let arguments = [self.machine, counts, period, first_read];
        let call = self.code.ins().call_indirect(self.signatures.access, function, &arguments);
        let rounds = self.code.inst_results(call)[0];
        let time = self.code.ins().imul_imm_u(rounds, i64::from(wait.period));
        let cycles = self.code.ins().iadd(cycles, time);
        self.code.def_var(self.registers.cycles, cycles);
    }

    /// Exits unless the rest of the basic block, including the current instruction, is certain to end before the log
    /// does.
    fn interpret_if_late(&mut self) {
        let late = self.is_late();
        self.interpret_if(late);
    }

    /// Returns true unless the instructions after the current one are certain to end before the log does.
    fn is_late(&mut self) -> Value {
        let latest = self.later(self.elapsed + self.position.rest);
        let end = self.code.ins().load(I32, TRUSTED, self.machine, LOG_END);
        self.code.ins().icmp(IntCC::UnsignedGreaterThan, latest, end)
    }

    /// Like [`interpret_if_late`](Self::interpret_if_late), but after the current instruction, which has waited.
    pub(super) fn interpret_next_if_late(&mut self, next: u16) {
        let late = self.is_late();
        self.exit_if(late, next, self.elapsed, 0);
    }

    /// Ends a basic block with a jump to `pc`, inside or outside of the region.
    fn jump_to(&mut self, pc: u16) {
        let cycles = self.now();
        if let Some(&block) = self.blocks.get(&pc) {
            self.code.def_var(self.registers.cycles, cycles);
            self.code.ins().jump(block, &[]);
        } else {
            let code = self.code_at(pc);
            let pc = self.int(pc.into());
            self.exit_to(pc, code);
        }
    }

    /// Ends a basic block with an exit to a `pc` outside of the region, whose native code is `code`.
    fn exit_to(&mut self, pc: Value, code: Value) {
        let cycles = self.now();
        self.code.ins().jump(self.exit, &[pc, cycles, code].map(BlockArg::from));
    }

    /// Ends a basic block with an exit to an address known at run time only.
    fn exit_to_any(&mut self, pc: Value) {
        let code = self.code_at_any(pc);
        self.exit_to(pc, code);
    }

    /// Returns the native code at an address, or 0.
    fn code_at(&mut self, pc: u16) -> Value {
        match self.unit.code_index(pc) {
            Some(index) => {
                let slot = (self.slots)(pc).wrapping_add(index);
                let slot = self.pointer_sized(slot.expose_provenance());
                self.code.ins().load(I64, TRUSTED, slot, 0)
            }
            None => self.pointer_sized(0),
        }
    }

    /// Like [`code_at`](Self::code_at), for an address known at run time only. May be 0 even if there is native
    /// code.
    fn code_at_any(&mut self, pc: Value) -> Value {
        let unknown = self.pointer_sized(0);
        if self.unit.mapping != Mapping::Whole {
            return unknown;
        }
        // The table covers half of the addresses that share the highest bits; the others are not in the cartridge.
        let start = (self.slots)(self.unit.base).wrapping_add(self.unit.image.start);
        let place = self.code.ins().band_imm_s(pc, 0x0FFF);
        let place = self.code.ins().uextend(I64, place);
        let place = self.code.ins().imul_imm_u(place, size_of::<Slot>() as i64);
        let start = self.pointer_sized(start.expose_provenance());
        let slot = self.code.ins().iadd(start, place);
        let code = self.code.ins().load(I64, TRUSTED, slot, 0);
        let window = self.code.ins().band_imm_s(pc, 0xF000);
        let is_here = self.code.ins().icmp_imm_u(IntCC::Equal, window, i64::from(self.unit.base & 0xF000));
        self.code.ins().select(is_here, code, unknown)
    }

    /// Exits before the current instruction and leaves it to the interpreter if `condition` holds. Nothing of
    /// the instruction may have happened yet.
    pub(super) fn interpret_if(&mut self, condition: Value) {
        self.exit_if(condition, self.position.pc, self.position.elapsed, INTERPRET);
    }

    /// Exits after the current instruction if the `result` of a callback says that the frame has ended.
    pub(super) fn stop_if(&mut self, result: Value, next: u16) {
        let stopped = self.code.ins().icmp_imm_s(IntCC::SignedLessThan, result, 0);
        self.exit_if(stopped, next, self.elapsed, 0);
    }

    /// Exits to `pc`, `elapsed` cycles after the start of the basic block, if `condition` holds.
    fn exit_if(&mut self, condition: Value, pc: u16, elapsed: u32, result: usize) {
        // The arguments of the exit are computed off the hot path.
        let [leave, after] = std::array::from_fn(|_| self.code.create_block());
        self.code.ins().brif(condition, leave, &[], after, &[]);
        self.code.switch_to_block(leave);
        self.code.set_cold_block(leave);
        let cycles = self.code.use_var(self.registers.cycles);
        let cycles = self.code.ins().iadd_imm_s(cycles, i64::from(elapsed));
        let arguments = [self.int(pc.into()), cycles, self.pointer_sized(result)].map(BlockArg::from);
        self.code.ins().jump(self.exit, &arguments);
        self.code.switch_to_block(after);
    }

    /// Returns the time at the end of the current instruction.
    pub(super) fn now(&mut self) -> Value {
        self.later(self.elapsed)
    }

    /// Returns the time `elapsed` cycles after the start of the basic block.
    fn later(&mut self, elapsed: u32) -> Value {
        let cycles = self.code.use_var(self.registers.cycles);
        if elapsed == 0 { cycles } else { self.code.ins().iadd_imm_s(cycles, i64::from(elapsed)) }
    }

    /// Makes `cycles` the time at the end of the current instruction.
    pub(super) fn set_now(&mut self, cycles: Value) {
        let start = self.code.ins().iadd_imm_s(cycles, -i64::from(self.elapsed));
        self.code.def_var(self.registers.cycles, start);
    }

    pub(super) fn int(&mut self, value: u32) -> Value {
        self.code.ins().iconst(I32, i64::from(value))
    }

    fn pointer_sized(&mut self, value: usize) -> Value {
        self.code.ins().iconst(I64, value as i64)
    }

    pub(super) fn byte(&mut self, byte: u8) -> Value {
        self.code.ins().iconst(I8, i64::from(byte))
    }

    pub(super) fn zero_extend(&mut self, byte: Value) -> Value {
        self.code.ins().uextend(I32, byte)
    }

    fn branch(&mut self, instruction: Instruction) -> Result<(), Unsupported> {
        let taken = self.condition(instruction.opcode)?;
        let (taken_block, after) = (self.code.create_block(), self.code.create_block());
        self.code.ins().brif(taken, taken_block, &[], after, &[]);
        let (target, next) = (instruction.branch_target(), instruction.next());
        let elapsed = self.elapsed;
        self.code.switch_to_block(taken_block);
        self.elapsed += if (target ^ next) & 0xFF00 == 0 { 1 } else { 2 };
        self.jump_to(target);
        self.code.switch_to_block(after);
        self.elapsed = elapsed;
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

    fn jump_indirect(&mut self, instruction: Instruction) {
        let target = self.pointer(instruction.operand as u8);
        self.interpret_unless_cartridge(target);
        self.exit_to_any(target);
    }

    /// Emits JSR, which pushes the address of its last byte.
    fn call(&mut self, instruction: Instruction) {
        let [high, low] = instruction.next().wrapping_sub(1).to_be_bytes();
        let bytes = [self.byte(high), self.byte(low)];
        self.push_all(&bytes);
        self.jump_to(instruction.operand);
    }

    /// Emits BRK, which pushes the address after its padding byte, and the status. It does not change decimal
    /// mode.
    fn software_interrupt(&mut self, instruction: Instruction) {
        let [high, low] = instruction.return_address().to_be_bytes();
        let bytes = [self.byte(high), self.byte(low), self.status()];
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
    fn return_(&mut self) {
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
        self.return_to(pc);
    }

    /// Emits RTI.
    fn return_from_interrupt(&mut self) {
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
        self.return_to(pc);
    }

    /// Continues at an address from the stack, most likely after one of the region's calls.
    fn return_to(&mut self, pc: Value) {
        let cycles = self.now();
        for back in self.returns.clone() {
            let block = self.blocks[&back];
            let (here, after) = (self.code.create_block(), self.code.create_block());
            let equal = self.code.ins().icmp_imm_u(IntCC::Equal, pc, i64::from(back));
            self.code.ins().brif(equal, here, &[], after, &[]);
            self.code.switch_to_block(here);
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

    /// Calls a function of `callbacks` that accesses an address.
    pub(super) fn call_access(&mut self, function: callbacks::Access, address: Value, value: Value) -> Value {
        let now = self.now();
        let function = self.code.ins().iconst(I64, function as usize as i64);
        let call = self.code.ins().call_indirect(
            self.signatures.access,
            function,
            &[self.machine, address, value, now],
        );
        self.code.inst_results(call)[0]
    }
}
