//! The CPU's quirks, case by case, with values computed by hand. Those of decimal mode, the undocumented
//! opcodes and the open bus were confirmed with ale-py 0.12.1.

use crate::chip::memory::{Access, Memory};
use vcs::{Cartridge, Console, ConsoleOptions, Cpu, TvFormat};

const N: u8 = 0x80;
const V: u8 = 0x40;
const D: u8 = 0x08;
const I: u8 = 0x04;
const Z: u8 = 0x02;
const C: u8 = 0x01;

/// Start address of the programs in this file.
const START: u16 = 0x1080;

/// Returns a CPU and its memory, with `program` about to run at `START`.
fn chip(program: &[u8]) -> (Cpu, Memory) {
    chip_at(START, program)
}

fn chip_at(pc: u16, program: &[u8]) -> (Cpu, Memory) {
    let mut memory = Memory::new();
    memory.place(pc, program);
    let mut cpu = Cpu::default();
    (cpu.pc, cpu.s) = (pc, 0xFF);
    cpu.set_status(0);
    (cpu, memory)
}

/// Flags without the two bits that are always 1.
fn flags(cpu: &Cpu) -> u8 {
    cpu.status() & !0x30
}

fn read(cycle: u32, address: u16, value: u8) -> Access {
    Access::Read { cycle, address, value }
}

fn write(cycle: u32, address: u16, value: u8) -> Access {
    Access::Write { cycle, address, value }
}

fn write_again(cycle: u32, address: u16, value: u8) -> Access {
    Access::WriteAgain { cycle, address, value }
}

/// Runs an immediate instruction; returns A, X and the flags.
fn immediate(code: u8, (a, x, before): (u8, u8, u8), m: u8) -> (u8, u8, u8) {
    let (mut cpu, mut memory) = chip(&[code, m]);
    (cpu.a, cpu.x) = (a, x);
    cpu.set_status(before);
    cpu.step(&mut memory);
    (cpu.a, cpu.x, flags(&cpu))
}

#[test]
fn decimal_addition() {
    for (a, m, carry, sum, after) in [
        (0x12, 0x34, 0, 0x46, 0),
        (0x58, 0x46, C, 0x05, C),
        (0x50, 0x50, 0, 0x00, Z | C),
        (0x99, 0x00, C, 0x00, Z | C),
        (0x99, 0x99, 0, 0x98, N | C),
        (0x40, 0x45, 0, 0x85, N | V),
        (0x80, 0x80, 0, 0x60, V | C),
        // $0F has the value 15 and $FF the value 165; 331 is 75 in a byte.
        (0x0F, 0x01, 0, 0x16, 0),
        (0xFF, 0xFF, C, 0x75, V | C),
    ] {
        assert_eq!(immediate(0x69, (a, 0, D | carry), m), (sum, 0, D | after), "{a:02X} + {m:02X} + {carry}");
    }
}

#[test]
fn decimal_subtraction() {
    for (a, m, carry, difference, after) in [
        (0x46, 0x12, C, 0x34, C),
        (0x32, 0x02, 0, 0x29, C),
        (0x12, 0x21, C, 0x91, N | V),
        (0x00, 0x01, C, 0x99, N | V),
        (0x0F, 0x00, C, 0x15, C),
        // 15 - 10 is not negative, but $0F is less than $10.
        (0x0F, 0x10, C, 0x05, 0),
        // -165 + 100 is still negative: the byte 191 is $BF, which has the value 125.
        (0x00, 0xFF, C, 125, 0),
    ] {
        let got = immediate(0xE9, (a, 0, D | carry), m);
        assert_eq!(got, (difference, 0, D | after), "{a:02X} - {m:02X} - !{carry}");
    }
}

#[test]
fn undocumented_immediate_opcodes() {
    // ANC copies N to C, ALR shifts bit 0 to C.
    assert_eq!(immediate(0x0B, (0xFF, 0, 0), 0x80), (0x80, 0, N | C));
    assert_eq!(immediate(0x4B, (0xFF, 0, 0), 0x03), (0x01, 0, C));
    // ARR sets C to bit 6 and V to bit 6 XOR bit 5 of the result.
    assert_eq!(immediate(0x6B, (0xFF, 0, C), 0x55), (0xAA, 0, N | V));
    assert_eq!(immediate(0x6B, (0xFF, 0, 0), 0xC0), (0x60, 0, C));
    // Decimal: the rotation gives $AA, fixing the low nibble $A0, the high nibble $00. N and Z stay those of
    // $AA.
    assert_eq!(immediate(0x6B, (0xFF, 0, D | C), 0x55), (0x00, 0, N | V | D | C));
    // SBX ignores decimal mode and the borrow.
    assert_eq!(immediate(0xCB, (0x0F, 0xFF, D), 0x10), (0x0F, 0xFF, N | D));
    // ANE and LXA use A with the bits $EE set.
    assert_eq!(immediate(0x8B, (0x00, 0xFF, 0), 0xFF), (0xEE, 0xFF, N));
    assert_eq!(immediate(0x8B, (0x11, 0x7F, 0), 0xF1), (0x71, 0x7F, 0));
    assert_eq!(immediate(0xAB, (0x00, 0x00, 0), 0x3C), (0x2C, 0x2C, 0));
}

#[test]
fn unstable_stores_use_the_high_byte_of_the_indexed_address() {
    // SHA $10F0,Y with Y = $20 stores at $1110, so A & X & $12.
    let (mut cpu, mut memory) = chip(&[0x9F, 0xF0, 0x10]);
    (cpu.a, cpu.x, cpu.y) = (0xFF, 0x1E, 0x20);
    cpu.step(&mut memory);
    assert_eq!((memory.bytes[0x1110], memory.cycles), (0x12, 5));

    // SHS does the same with S = A & X.
    let (mut cpu, mut memory) = chip(&[0x9B, 0xF0, 0x10]);
    (cpu.a, cpu.x, cpu.y) = (0xF7, 0x1E, 0x20);
    cpu.step(&mut memory);
    assert_eq!((memory.bytes[0x1110], cpu.s), (0x12, 0x16));
}

#[test]
fn lax_of_page_zero_takes_four_cycles() {
    let (mut cpu, mut memory) = chip(&[0xA7, 0x10]);
    memory.place(0x10, &[0x80]);
    cpu.step(&mut memory);
    assert_eq!((cpu.a, cpu.x, flags(&cpu), memory.cycles), (0x80, 0x80, N, 4));
}

#[test]
fn page_crossings_cost_a_cycle_for_reads_but_not_for_stores() {
    // Opcode, cycles with the operand $11F0 indexed by $0F, cycles indexed by $10.
    for (code, same_page, next_page) in [
        (0xBD, 4, 5), // LDA abs,X
        (0xB9, 4, 5), // LDA abs,Y
        (0x1C, 4, 5), // NOP abs,X
        (0xBF, 4, 5), // LAX abs,Y
        (0xBB, 4, 5), // LAS abs,Y
        (0x9D, 5, 5), // STA abs,X
        (0xFE, 7, 7), // INC abs,X
        (0x9F, 5, 5), // SHA abs,Y
    ] {
        for (index, cycles) in [(0x0F, same_page), (0x10, next_page)] {
            let (mut cpu, mut memory) = chip(&[code, 0xF0, 0x11]);
            (cpu.x, cpu.y) = (index, index);
            cpu.step(&mut memory);
            assert_eq!(memory.cycles, cycles, "{code:02X} indexed by {index:02X}");
        }
    }
    for (code, same_page, next_page) in [(0xB1, 5, 6), (0xB3, 5, 6), (0x91, 6, 6), (0x93, 6, 6), (0x13, 8, 8)]
    {
        for (index, cycles) in [(0x0F, same_page), (0x10, next_page)] {
            let (mut cpu, mut memory) = chip(&[code, 0x20]);
            memory.place(0x20, &[0xF0, 0x11]);
            cpu.y = index;
            cpu.step(&mut memory);
            assert_eq!(memory.cycles, cycles, "{code:02X} indexed by {index:02X}");
        }
    }
}

#[test]
fn taken_branches_cost_a_cycle_and_two_across_pages() {
    // BNE at $1080: the next instruction is at $1082.
    for (distance, zero, target, cycles) in [
        (0x10, true, 0x1082, 2),
        (0x10, false, 0x1092, 3),
        (0x7D, false, 0x10FF, 3),
        (0x7E, false, 0x1100, 4),
        (0x80, false, 0x1002, 3),
    ] {
        let (mut cpu, mut memory) = chip(&[0xD0, distance]);
        cpu.set_status(if zero { Z } else { 0 });
        cpu.step(&mut memory);
        assert_eq!((cpu.pc, memory.cycles), (target, cycles), "distance {distance:02X}");
    }
    // The page that counts is that of the next instruction, not that of the branch.
    let (mut cpu, mut memory) = chip_at(0x10FE, &[0xD0, 0xFE]);
    cpu.step(&mut memory);
    assert_eq!((cpu.pc, memory.cycles), (0x10FE, 4));
}

#[test]
fn an_indirect_jump_wraps_its_pointer_within_the_page() {
    let (mut cpu, mut memory) = chip(&[0x6C, 0xFF, 0x12]);
    memory.place(0x12FF, &[0x34, 0xBA]);
    memory.place(0x1200, &[0x56]);
    cpu.step(&mut memory);
    assert_eq!((cpu.pc, memory.cycles), (0x5634, 5));
}

#[test]
fn pointers_extend_beyond_the_zero_page_but_indexed_addresses_wrap() {
    // LDA ($FF),Y and LDA ($F0,X): the pointer at $FF ends at $0100.
    for program in [[0xB1, 0xFF], [0xA1, 0xF0]] {
        let (mut cpu, mut memory) = chip(&program);
        memory.place(0x00FF, &[0x05, 0x20]);
        memory.place(0x0000, &[0x30]);
        memory.place(0x2005, &[0x77]);
        cpu.x = 0x0F;
        cpu.step(&mut memory);
        assert_eq!(cpu.a, 0x77, "{program:02X?}");
    }
    // LDA ($F0,X) with X = $20 finds its pointer at $10; LDA $F0,X reads $10.
    let (mut cpu, mut memory) = chip(&[0xA1, 0xF0, 0xB5, 0xF0]);
    memory.place(0x0010, &[0x05, 0x20]);
    memory.place(0x2005, &[0x77]);
    cpu.x = 0x20;
    cpu.step(&mut memory);
    assert_eq!(cpu.a, 0x77);
    cpu.step(&mut memory);
    assert_eq!(cpu.a, 0x05);
}

#[test]
fn accesses_happen_at_the_end_of_the_instruction_without_dummies() {
    // INC $20: one read, one write, both in the last cycle.
    let (mut cpu, mut memory) = chip(&[0xE6, 0x20]);
    cpu.step(&mut memory);
    let expected = [read(0, START, 0xE6), read(5, START + 1, 0x20), read(5, 0x20, 0), write(5, 0x20, 1)];
    assert_eq!(memory.accesses, expected);

    // LDA $11F0,X across a page: low byte, high byte, the extra cycle, the operand.
    let (mut cpu, mut memory) = chip(&[0xBD, 0xF0, 0x11]);
    cpu.x = 0x10;
    cpu.step(&mut memory);
    let expected =
        [read(0, START, 0xBD), read(4, START + 1, 0xF0), read(4, START + 2, 0x11), read(5, 0x1200, 0)];
    assert_eq!(memory.accesses, expected);

    // An implied instruction reads its opcode only.
    let (mut cpu, mut memory) = chip(&[0xE8]);
    cpu.step(&mut memory);
    assert_eq!(memory.accesses, [read(0, START, 0xE8)]);
}

#[test]
fn a_subroutine_call_reads_the_stack_and_returns_to_the_next_instruction() {
    let (mut cpu, mut memory) = chip(&[0x20, 0x00, 0x20]);
    memory.place(0x2000, &[0x60]);
    memory.place(START + 3, &[0xEA]);
    cpu.step(&mut memory);
    assert_eq!(
        memory.accesses,
        [
            read(0, START, 0x20),
            read(6, START + 1, 0x00),
            read(6, 0x01FF, 0x00),
            write(6, 0x01FF, 0x10),
            write_again(6, 0x01FE, 0x82),
            read(6, START + 2, 0x20),
        ]
    );
    memory.start();
    cpu.step(&mut memory);
    assert_eq!(
        memory.accesses,
        [
            read(0, 0x2000, 0x60),
            read(6, 0x01FD, 0x00),
            read(6, 0x01FE, 0x82),
            read(6, 0x01FF, 0x10),
            read(6, START + 2, 0x20),
        ]
    );
    assert_eq!((cpu.pc, cpu.s), (START + 3, 0xFF));
}

#[test]
fn a_break_skips_a_byte_and_keeps_decimal_mode() {
    let (mut cpu, mut memory) = chip(&[0x00, 0x99]);
    memory.place(0xFFFE, &[0x00, 0x20]);
    memory.place(0x2000, &[0x40]);
    cpu.set_status(D | C);
    cpu.step(&mut memory);
    assert_eq!((cpu.pc, cpu.s, memory.cycles), (0x2000, 0xFC, 7));
    assert_eq!(memory.bytes[0x01FD..=0x01FF], [0x30 | D | C, 0x82, 0x10]);
    assert_eq!(flags(&cpu), D | I | C);
    // RTI ignores the break bit and does not increment the address.
    memory.bytes[0x01FD] = N | V;
    cpu.step(&mut memory);
    assert_eq!((cpu.pc, cpu.s, cpu.status()), (START + 2, 0xFF, 0x30 | N | V));
}

#[test]
fn the_stack_and_the_program_counter_wrap() {
    // PHP at $FFFF with S = $00.
    let (mut cpu, mut memory) = chip_at(0xFFFF, &[0x08]);
    cpu.s = 0x00;
    cpu.step(&mut memory);
    assert_eq!((cpu.pc, cpu.s, memory.bytes[0x0100]), (0x0000, 0xFF, 0x30));
}

#[test]
fn a_jam_lasts_until_the_next_reset() {
    for code in [0x02, 0x12, 0x22, 0x32, 0x42, 0x52, 0x62, 0x72, 0x92, 0xB2, 0xD2, 0xF2] {
        let (mut cpu, mut memory) = chip(&[code, 0xE8]);
        memory.place(0xFFFC, &[0x81, 0x10]);
        cpu.step(&mut memory);
        assert!(cpu.jammed);
        assert_eq!(cpu.pc, START + 1);

        memory.start();
        let before = cpu.clone();
        cpu.step(&mut memory);
        assert_eq!((&cpu, memory.accesses.len(), memory.cycles), (&before, 0, 0));

        cpu.reset(&mut memory);
        assert_eq!(memory.accesses, [read(0, 0xFFFC, 0x81), read(0, 0xFFFD, 0x10)]);
        assert_eq!((cpu.a, cpu.x, cpu.y, cpu.s, cpu.status(), cpu.pc), (0, 0, 0, 0xFF, 0x30, START + 1));
        cpu.step(&mut memory);
        assert_eq!(cpu.x, 1);
    }
}

/// The TIA does not drive the low six bits of a read. They keep the value of the previous access.
#[test]
fn the_open_bus_keeps_the_value_of_the_previous_access() {
    #[rustfmt::skip]
    let program = [
        0xA5, 0x0E, 0x85, 0x80,             // LDA $0E: the operand
        0xAD, 0x0E, 0x2D, 0x85, 0x81,       // LDA $2D0E: the operand's high byte
        0xA2, 0x01,
        0xBD, 0x0D, 0x2B, 0x85, 0x82,       // LDA $2B0D,X: likewise
        0xA9, 0x0E, 0x85, 0x90,
        0xA9, 0x2C, 0x85, 0x91, 0xA0, 0x00,
        0xB1, 0x90, 0x85, 0x83,             // LDA ($90),Y: the pointer's high byte
        0xA2, 0x0D, 0x9A, 0x68, 0x85, 0x84, // PLA with S = $0D: the dummy read of $010D sees the opcode $68
        0xA9, 0x0E, 0x85, 0xFF,
        0xB1, 0xFF, 0x85, 0x85,             // LDA ($FF),Y: the high byte from the TIA at $0100 is $0E again
        0x02,                               // JAM
    ];
    let mut rom = vec![0xEA; 4096];
    rom[..program.len()].copy_from_slice(&program);
    rom[0xFFC..].copy_from_slice(&[0x00, 0xF0, 0x00, 0xF0]);
    let options = ConsoleOptions { tv: Some(TvFormat::Ntsc), ..ConsoleOptions::default() };
    let mut console = Console::new(Cartridge::detect(rom.into()).unwrap(), &options);
    console.run_frame();
    assert_eq!(console.ram()[..6], [0x0E, 0x2D, 0x2B, 0x2C, 0x28, 0x0E]);

    // A jammed CPU stays jammed in later frames.
    let ram = *console.ram();
    console.run_frame();
    assert!(console.cpu().jammed);
    assert_eq!(*console.ram(), ram);
}
