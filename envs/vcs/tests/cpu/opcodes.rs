//! Compares all 256 opcodes with the datasheet and a separate model: registers, flags, cycles and every bus access.

use crate::chip::datasheet::{Instruction, instructions};
use crate::chip::memory::Memory;
use crate::chip::model::{C, D, Model, Registers};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use vcs::{Cpu, OPCODES};

#[test]
fn the_table_agrees_with_the_datasheet() {
    for (code, (ours, theirs)) in OPCODES.iter().zip(instructions()).enumerate() {
        assert_eq!(format!("{:?}", ours.operation).to_uppercase(), theirs.mnemonic, "{code:02X}");
        let mode = match format!("{:?}", ours.mode).as_str() {
            "Implied" => "imp",
            "Accumulator" => "acc",
            "Immediate" => "imm",
            "ZeroPage" => "zp",
            "ZeroPageX" => "zp,x",
            "ZeroPageY" => "zp,y",
            "Absolute" => "abs",
            "AbsoluteX" => "abs,x",
            "AbsoluteY" => "abs,y",
            "Indirect" => "(abs)",
            "IndirectX" => "(zp,x)",
            "IndirectY" => "(zp),y",
            "Relative" => "rel",
            _ => "unknown",
        };
        assert_eq!(mode, theirs.mode, "{code:02X}");
        assert_eq!(u32::from(ours.cycles), theirs.cycles, "{code:02X}");
    }
}

#[test]
fn every_opcode_agrees_with_the_model_in_random_states() {
    const STATES: usize = 3000;
    let seed: u64 = rand::random();
    println!("seed {seed}");
    let mut random = StdRng::seed_from_u64(seed);
    let datasheet = instructions();
    let mut bench = Bench::new(&datasheet);
    for code in 0..=255 {
        bench.fill(&mut random);
        for _ in 0..STATES {
            let registers = random_registers(&mut random);
            bench.place(registers.pc, &[code]);
            bench.compare(registers);
        }
    }
}

/// Operations with intricate flags, for all accumulators, operands, carries and modes: ADC, SBC and its
/// undocumented twin, ARR, ALR, ANC and SBX.
#[test]
fn arithmetic_agrees_with_the_model_for_all_operands() {
    const START: u16 = 0x1000;
    let datasheet = instructions();
    let mut bench = Bench::new(&datasheet);
    for code in [0x69, 0xE9, 0xEB, 0x6B, 0x4B, 0x0B, 0xCB] {
        for m in 0..=255 {
            bench.place(START, &[code, m]);
            for a in 0..=255 {
                for flags in [0, C, D, C | D] {
                    bench.compare(Registers { a, x: 0x5F, y: 0, s: 0xFF, p: 0x30 | flags, pc: START });
                }
            }
        }
    }
}

/// Returns a random byte. Those at the edges of pages and ranges are more frequent.
fn random_byte(random: &mut StdRng) -> u8 {
    let edges = [0x00, 0x01, 0x7F, 0x80, 0xFE, 0xFF];
    if random.random_bool(0.25) { edges[random.random_range(0..edges.len())] } else { random.random() }
}

fn random_registers(random: &mut StdRng) -> Registers {
    let [a, x, y, s, low, high] = std::array::from_fn(|_| random_byte(random));
    Registers { a, x, y, s, p: random.random::<u8>() | 0x30, pc: u16::from_be_bytes([high, low]) }
}

/// The emulator and the model side by side, each with a copy of the same memory.
struct Bench<'a> {
    datasheet: &'a [Instruction; 256],
    emulated: Memory,
    modelled: Memory,
}

impl<'a> Bench<'a> {
    fn new(datasheet: &'a [Instruction; 256]) -> Self {
        Self { datasheet, emulated: Memory::new(), modelled: Memory::new() }
    }

    fn fill(&mut self, random: &mut StdRng) {
        random.fill(&mut self.emulated.bytes[..]);
        self.modelled.bytes.clone_from(&self.emulated.bytes);
    }

    fn place(&mut self, address: u16, bytes: &[u8]) {
        self.emulated.place(address, bytes);
        self.modelled.place(address, bytes);
    }

    /// Executes one instruction in both. The emulator fetches it byte by byte and as a whole in turn.
    fn compare(&mut self, before: Registers) {
        self.emulated.is_plain = !self.emulated.is_plain;
        self.emulated.start();
        self.modelled.start();
        let code = self.emulated.bytes[usize::from(before.pc)];

        let mut cpu = Cpu::default();
        (cpu.a, cpu.x, cpu.y, cpu.s, cpu.pc) = (before.a, before.x, before.y, before.s, before.pc);
        cpu.set_status(before.p);
        cpu.step(&mut self.emulated);
        let after = Registers { a: cpu.a, x: cpu.x, y: cpu.y, s: cpu.s, p: cpu.status(), pc: cpu.pc };

        let mut model = Model::new(before, &mut self.modelled);
        model.step(self.datasheet);

        let instruction = self.datasheet[usize::from(code)];
        let circumstances = || format!("{code:02X} {instruction:?} from {before:02X?}");
        assert_eq!(after, model.registers, "registers: {}", circumstances());
        assert_eq!(cpu.jammed, model.jammed, "jammed: {}", circumstances());
        assert_eq!(self.emulated.accesses, self.modelled.accesses, "accesses: {}", circumstances());
        if instruction.mnemonic != "JAM" {
            assert_eq!(self.emulated.cycles, self.modelled.cycles, "cycles: {}", circumstances());
        }
    }
}
