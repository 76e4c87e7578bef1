//! Code generation for a region in cranelift's intermediate representation.

use std::collections::BTreeMap;
use std::mem::offset_of;

use cranelift_codegen::ir::types::{I8, I32, I64};
use cranelift_codegen::ir::{
    AbiParam, Block, Function, InstBuilder, MemFlagsData, SigRef, Signature, Type, Value,
};
use cranelift_codegen::isa::{CallConv, TargetIsa};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext, Variable};

use super::instruction::Instruction;
use super::region::{self, BasicBlock, Region};
use super::wait::TimerWait;
use super::{Slot, callbacks};
use crate::cart::Unit;
use crate::cpu::{Cpu, Mode, Opcode, Operation};
use crate::machine::Machine;

/// A result of native code: the caller looks up the next code.
pub(super) const LOOK_UP: usize = 0;
/// A result of native code: the interpreter executes the next instruction.
pub(super) const INTERPRET: usize = 1;

/// Loads and stores of the machine's state cannot trap.
pub(super) const TRUSTED: MemFlagsData = MemFlagsData::trusted();

/// Cranelift's variables of the CPU's registers (8 bits) and of the time (32 bits).
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
    /// The time at the start of the basic block, in CPU cycles since the start of the frame, plus the cycles since then
    /// that are known at run time only.
    pub(super) cycles: Variable,
}

/// Error for an instruction that the translator does not support. The interpreter executes it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unsupported(pub(super) Opcode);

/// The current instruction's position in its basic block. Cycles that are known at run time only, such as those for
/// crossing a page, are added to [`Registers::cycles`] instead.
#[derive(Clone, Copy, Default)]
pub(super) struct Position {
    /// The address of the instruction.
    pub(super) pc: u16,
    /// Cycles from the start of the basic block to the start of the instruction.
    pub(super) cycles_before: u32,
    /// Cycles from the start of the basic block to the end of the instruction.
    pub(super) cycles_through: u32,
    /// Maximum number of cycles of the instructions after this one, unless they wait.
    pub(super) max_cycles_after: u32,
}

/// The state of code generation for a region.
pub(super) struct Emitter<'a> {
    pub(super) code: FunctionBuilder<'a>,
    pub(super) unit: &'a Unit,
    pub(super) rom: &'a [u8],
    /// Pointers to the CPU and the machine, the parameters of the function.
    pub(super) cpu: Value,
    pub(super) machine: Value,
    pub(super) registers: Registers,
    /// The signature of all functions in `callbacks`.
    pub(super) callback_signature: SigRef,
    /// Returns the first slot of the table for an address.
    pub(super) slots: &'a dyn Fn(u16) -> *const Slot,
    pub(super) position: Position,
    /// The basic blocks of the region by their first addresses.
    pub(super) blocks: BTreeMap<u16, Block>,
    /// The return addresses of the calls in the region, where they are in the region.
    pub(super) return_addresses: Vec<u16>,
    /// The only exit. Its parameters are the address of the next instruction, the time and the result.
    pub(super) exit: Block,
}

/// Offsets of the registers in `Cpu`.
pub(super) const REGISTER_OFFSETS: [usize; 8] = [
    offset_of!(Cpu, a),
    offset_of!(Cpu, x),
    offset_of!(Cpu, y),
    offset_of!(Cpu, s),
    offset_of!(Cpu, negative),
    offset_of!(Cpu, zero),
    offset_of!(Cpu, carry),
    offset_of!(Cpu, overflow),
];

impl Registers {
    fn declare(code: &mut FunctionBuilder) -> Self {
        let mut byte = || code.declare_var(I8);
        Self {
            a: byte(),
            x: byte(),
            y: byte(),
            s: byte(),
            negative: byte(),
            zero: byte(),
            carry: byte(),
            overflow: byte(),
            cycles: code.declare_var(I32),
        }
    }

    /// Returns the CPU's registers, in the order of [`REGISTER_OFFSETS`].
    pub(super) fn bytes(&self) -> [Variable; 8] {
        [self.a, self.x, self.y, self.s, self.negative, self.zero, self.carry, self.overflow]
    }
}

/// Emits the function of a region. The function takes the CPU and the machine, whose writes are being logged, and
/// returns one of:
///
/// * the native code to run next, from a slot
/// * [`INTERPRET`] if the interpreter must execute the next instruction
/// * [`LOOK_UP`] if the caller must look up the next code
pub(super) fn emit(
    region: &Region,
    unit: &Unit,
    rom: &[u8],
    isa: &dyn TargetIsa,
    slots: &dyn Fn(u16) -> *const Slot,
) -> Result<Function, Unsupported> {
    let pointer = isa.pointer_type();
    let convention = isa.default_call_conv();
    let mut function = Function::new();
    function.signature = signature(convention, &[pointer, pointer], pointer);
    let mut context = FunctionBuilderContext::new();
    let mut code = FunctionBuilder::new(&mut function, &mut context);
    let callback_signature = code.import_signature(signature(convention, &[pointer, I32, I32, I32], I32));
    let start = code.create_block();
    code.append_block_params_for_function_params(start);
    code.switch_to_block(start);
    let &[cpu, machine] = code.block_params(start) else { unreachable!("two parameters") };
    let registers = Registers::declare(&mut code);
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
        callback_signature,
        slots,
        position: Position::default(),
        blocks,
        return_addresses: region.return_addresses(),
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

fn signature(convention: CallConv, parameters: &[Type], result: Type) -> Signature {
    let mut signature = Signature::new(convention);
    signature.params.extend(parameters.iter().map(|&kind| AbiParam::new(kind)));
    signature.returns.push(AbiParam::new(result));
    signature
}

/// Returns an upper bound on the cycles of instructions that do not wait: the cycles of each opcode, plus two for
/// crossing pages and taking a branch.
fn max_cycles(instructions: &[Instruction]) -> u32 {
    instructions.iter().map(|instruction| u32::from(instruction.opcode.cycles) + 2).sum()
}

impl Emitter<'_> {
    fn load_registers(&mut self) {
        for (variable, offset) in self.registers.bytes().into_iter().zip(REGISTER_OFFSETS) {
            let value = self.code.ins().load(I8, TRUSTED, self.cpu, offset as i32);
            self.code.def_var(variable, value);
        }
        let cycles = self.code.ins().load(I32, TRUSTED, self.machine, offset_of!(Machine, cycles) as i32);
        self.code.def_var(self.registers.cycles, cycles);
    }

    fn basic_block(&mut self, pc: u16, basic_block: &BasicBlock) -> Result<(), Unsupported> {
        let block = self.blocks[&pc];
        self.code.switch_to_block(block);
        self.position =
            Position { pc, max_cycles_after: max_cycles(&basic_block.instructions), ..Position::default() };
        if let Some(wait) = TimerWait::recognize(pc, basic_block) {
            self.skip_iterations(&wait);
        }
        self.interpret_if_late();
        for (index, &instruction) in basic_block.instructions.iter().enumerate() {
            let cycles_before = self.position.cycles_through;
            self.position = Position {
                pc: instruction.pc,
                cycles_before,
                cycles_through: cycles_before + u32::from(instruction.opcode.cycles),
                max_cycles_after: max_cycles(&basic_block.instructions[index + 1..]),
            };
            if region::ends_block(self.unit, self.rom, instruction) {
                return self.block_end(instruction);
            }
            self.instruction(instruction)?;
        }
        self.jump_to(basic_block.next);
        Ok(())
    }

    /// Emits an instruction that [ends its basic block](region::ends_block), and the jump to the code after it.
    fn block_end(&mut self, instruction: Instruction) -> Result<(), Unsupported> {
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
                // Another bank may be mapped now, so the caller looks up the code.
                self.instruction(instruction)?;
                let (next, look_up) =
                    (self.const_i32(instruction.next().into()), self.const_pointer(LOOK_UP));
                self.exit_to(next, look_up);
            }
        }
        Ok(())
    }

    /// Skips the iterations of a wait loop that are certain not to be the last.
    fn skip_iterations(&mut self, wait: &TimerWait) {
        let cycles = self.code.use_var(self.registers.cycles);
        let first_read = self.code.ins().iadd_imm_s(cycles, i64::from(wait.read_after));
        let function = self.const_pointer(callbacks::idle_iterations as callbacks::IdleIterations as usize);
        let counts = u32::from_le_bytes([*wait.counts.start(), *wait.counts.end(), 0, 0]);
        let (counts, period) = (self.const_i32(counts), self.const_i32(wait.period));
        let arguments = [self.machine, counts, period, first_read];
        let call = self.code.ins().call_indirect(self.callback_signature, function, &arguments);
        let iterations = self.code.inst_results(call)[0];
        let time = self.code.ins().imul_imm_u(iterations, i64::from(wait.period));
        let cycles = self.code.ins().iadd(cycles, time);
        self.code.def_var(self.registers.cycles, cycles);
    }

    /// Returns the time at the end of the current instruction.
    pub(super) fn now(&mut self) -> Value {
        self.block_start_plus(self.position.cycles_through)
    }

    /// Returns the time `cycles` after the start of the basic block.
    pub(super) fn block_start_plus(&mut self, cycles: u32) -> Value {
        let start = self.code.use_var(self.registers.cycles);
        if cycles == 0 { start } else { self.code.ins().iadd_imm_s(start, i64::from(cycles)) }
    }

    /// Makes `cycles` the time at the end of the current instruction.
    pub(super) fn set_now(&mut self, cycles: Value) {
        let start = self.code.ins().iadd_imm_s(cycles, -i64::from(self.position.cycles_through));
        self.code.def_var(self.registers.cycles, start);
    }

    /// Creates several blocks of cranelift.
    pub(super) fn create_blocks<const COUNT: usize>(&mut self) -> [Block; COUNT] {
        std::array::from_fn(|_| self.code.create_block())
    }

    pub(super) fn const_i32(&mut self, value: u32) -> Value {
        self.code.ins().iconst(I32, i64::from(value))
    }

    pub(super) fn const_pointer(&mut self, address: usize) -> Value {
        self.code.ins().iconst(I64, address as i64)
    }

    pub(super) fn const_i8(&mut self, value: u8) -> Value {
        self.code.ins().iconst(I8, i64::from(value))
    }

    pub(super) fn zero_extend(&mut self, byte: Value) -> Value {
        self.code.ins().uextend(I32, byte)
    }

    /// Calls a function of `callbacks` that accesses an address.
    pub(super) fn call_access(&mut self, function: callbacks::Access, address: Value, value: Value) -> Value {
        let now = self.now();
        let function = self.const_pointer(function as usize);
        let call = self.code.ins().call_indirect(
            self.callback_signature,
            function,
            &[self.machine, address, value, now],
        );
        self.code.inst_results(call)[0]
    }
}
