//! Regions: the code of a unit that is reachable from one entry point.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::instruction::Instruction;
use crate::cart::Unit;
use crate::cpu::{BREAK_VECTOR, Mode, Operation};
use crate::machine::Device;

/// Maximum number of instructions in a region. The loops of a display kernel fit within it, and little code is compiled
/// more than once.
const MAX_INSTRUCTIONS: usize = 80;

/// A basic block: instructions that are entered at the first one and left at the last.
#[derive(Clone, Debug, Default)]
pub(super) struct BasicBlock {
    pub(super) instructions: Vec<Instruction>,
    /// The next address if the last instruction does not jump.
    pub(super) next: u16,
}

/// A region: basic blocks by their leaders, the addresses of their first instructions.
#[derive(Clone, Debug)]
pub(super) struct Region {
    pub(super) entry: u16,
    pub(super) blocks: BTreeMap<u16, BasicBlock>,
}

impl Region {
    /// Finds the region of an entry point. Returns `None` if its first instruction cannot be translated.
    pub(super) fn discover(unit: &Unit, rom: &[u8], entry: u16) -> Option<Self> {
        let (code, leaders) = reachable(unit, rom, entry);
        code.get(&entry)?;
        let blocks = leaders
            .iter()
            .filter(|leader| code.contains_key(leader))
            .map(|&leader| (leader, basic_block(unit, rom, &code, &leaders, leader)))
            .collect();
        Some(Self { entry, blocks })
    }

    /// Returns the return addresses of the region's subroutine calls, where they are in the region.
    pub(super) fn return_addresses(&self) -> Vec<u16> {
        self.blocks
            .values()
            .filter_map(|block| block.instructions.last())
            .filter(|last| matches!(last.opcode.operation, Operation::Jsr | Operation::Brk))
            .map(|call| call.return_address())
            .filter(|next| self.blocks.contains_key(next))
            .collect()
    }
}

/// Returns the reachable instructions and the leaders of their basic blocks.
fn reachable(unit: &Unit, rom: &[u8], entry: u16) -> (BTreeMap<u16, Instruction>, BTreeSet<u16>) {
    let mut code = BTreeMap::new();
    let mut leaders = BTreeSet::from([entry]);
    let mut unvisited = VecDeque::from([entry]);
    while let Some(mut pc) = unvisited.pop_front() {
        while code.len() < MAX_INSTRUCTIONS && !code.contains_key(&pc) {
            let decoded = Instruction::decode(unit, rom, pc);
            let Some(instruction) = decoded.filter(|&decoded| is_translatable(unit, rom, decoded)) else {
                break;
            };
            code.insert(pc, instruction);
            let targets = targets(unit, rom, instruction);
            leaders.extend(&targets);
            unvisited.extend(&targets);
            if instruction.is_jump() || may_switch_bank(unit, rom, instruction) {
                break;
            }
            pc = instruction.next();
        }
    }
    (code, leaders)
}

/// Returns the possible successors of a branch, jump or call.
fn targets(unit: &Unit, rom: &[u8], instruction: Instruction) -> Vec<u16> {
    match (instruction.opcode.operation, instruction.opcode.mode) {
        (_, Mode::Relative) => vec![instruction.next(), instruction.branch_target()],
        (Operation::Jmp, Mode::Absolute) => vec![instruction.operand],
        (Operation::Jsr, _) => vec![instruction.operand, instruction.return_address()],
        (Operation::Brk, _) => {
            break_target(unit, rom).into_iter().chain([instruction.return_address()]).collect()
        }
        _ => vec![],
    }
}

fn basic_block(
    unit: &Unit,
    rom: &[u8],
    code: &BTreeMap<u16, Instruction>,
    leaders: &BTreeSet<u16>,
    leader: u16,
) -> BasicBlock {
    let mut block = BasicBlock { next: leader, ..BasicBlock::default() };
    while let Some(&instruction) = code.get(&block.next) {
        if block.next != leader && leaders.contains(&block.next) {
            break;
        }
        block.instructions.push(instruction);
        block.next = instruction.next();
        if ends_block(unit, rom, instruction) {
            break;
        }
    }
    block
}

/// Returns true if the instruction is always the last one of its basic block.
pub(super) fn ends_block(unit: &Unit, rom: &[u8], instruction: Instruction) -> bool {
    instruction.is_branch() || instruction.is_jump() || may_switch_bank(unit, rom, instruction)
}

/// Returns true if the instruction accesses a fixed address of the cartridge that is not plain, such as one that
/// switches banks. Other code may be mapped after it, so the region does not continue there.
fn may_switch_bank(unit: &Unit, rom: &[u8], instruction: Instruction) -> bool {
    use Operation as O;
    let Instruction { opcode, operand, .. } = instruction;
    let accesses = !matches!(opcode.operation, O::Jmp | O::Jsr);
    let writes = matches!(opcode.operation, O::Sta | O::Stx | O::Sty | O::Sax);
    accesses
        && opcode.mode == Mode::Absolute
        && Device::at(operand) == Device::Cartridge
        && (writes || unit.constant(rom, operand).is_none())
}

/// Returns true if the translator supports the instruction. The interpreter executes the others, all of them
/// rare.
fn is_translatable(unit: &Unit, rom: &[u8], instruction: Instruction) -> bool {
    use Operation as O;
    let Instruction { opcode, operand, .. } = instruction;
    let is_in_cartridge = |address: u16| Device::at(address) == Device::Cartridge;
    // A pointer whose two bytes are in RAM.
    let is_pointer = |address: u16| (0x80..0xFF).contains(&address);
    // Code outside the cartridge depends on the last byte on the bus, which only the interpreter keeps.
    if !instruction.is_jump() && !is_in_cartridge(instruction.next()) {
        return false;
    }
    match opcode.operation {
        // Jumps must stay in the cartridge, too.
        O::Jmp => match opcode.mode {
            Mode::Absolute => is_in_cartridge(operand),
            _ => is_pointer(operand),
        },
        O::Jsr => is_in_cartridge(operand),
        // Pong and breakout call subroutines with BRK.
        O::Brk => break_target(unit, rom).is_some(),
        O::Sta | O::Stx | O::Sty | O::Sax => match opcode.mode {
            Mode::IndirectY => is_pointer(operand),
            Mode::IndirectX => false,
            _ => true,
        },
        O::Inc | O::Dec | O::Asl | O::Lsr | O::Rol | O::Ror => match opcode.mode {
            // Alien increments an address of the TIA to wait.
            Mode::ZeroPage | Mode::Absolute => matches!(Device::at(operand), Device::Ram | Device::Tia),
            Mode::Accumulator | Mode::ZeroPageX => true,
            _ => false,
        },
        O::Lda
        | O::Ldx
        | O::Ldy
        | O::Lax
        | O::And
        | O::Ora
        | O::Eor
        | O::Bit
        | O::Adc
        | O::Sbc
        | O::Cmp
        | O::Cpx
        | O::Cpy => match opcode.mode {
            Mode::IndirectY => is_pointer(operand),
            _ => true,
        },
        O::Nop => matches!(opcode.mode, Mode::Implied | Mode::Immediate),
        O::Tax
        | O::Tay
        | O::Tsx
        | O::Txa
        | O::Tya
        | O::Txs
        | O::Inx
        | O::Iny
        | O::Dex
        | O::Dey
        | O::Clc
        | O::Sec
        | O::Cld
        | O::Sed
        | O::Cli
        | O::Sei
        | O::Clv
        | O::Rts
        | O::Rti
        | O::Plp
        | O::Pha
        | O::Php
        | O::Pla => true,
        O::Bpl | O::Bmi | O::Bvc | O::Bvs | O::Bcc | O::Bcs | O::Bne | O::Beq => {
            // A branch that leaves the cartridge across the end of the address space is rare.
            is_in_cartridge(instruction.branch_target())
        }
        _ => false,
    }
}

/// Returns the target of BRK if the vector is plain ROM and points to the cartridge.
pub(super) fn break_target(unit: &Unit, rom: &[u8]) -> Option<u16> {
    let byte = |address| unit.constant(rom, address);
    let target = u16::from_le_bytes([byte(BREAK_VECTOR)?, byte(BREAK_VECTOR + 1)?]);
    (Device::at(target) == Device::Cartridge).then_some(target)
}
