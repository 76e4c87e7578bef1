//! Compares native code with the interpreter on random programs.

use std::collections::BTreeMap;
use std::sync::Arc;

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

use super::emit::{Unsupported, emit};
use super::instruction::Instruction;
use super::native::Native;
use super::region::{BasicBlock, Region};
use crate::cart::Unit;
use crate::cpu::{Cpu, Mode, OPCODES, Operation};
use crate::machine::RAM;
use crate::{
    Cartridge, Console, ConsoleOptions, Controller, Execution, Inputs, Joystick, Paddle, Scheme,
    SoundRegisters, TvFormat, Wiring,
};

fn is_documented(operation: Operation) -> bool {
    operation as u8 <= Operation::Tya as u8
}

/// Returns a bank of random instructions. Most addresses are those that real programs use: RAM, chips and tables in
/// ROM.
fn bank(random: &mut StdRng, size: usize, documented: bool) -> Vec<u8> {
    let mut code = Vec::with_capacity(size);
    while code.len() < size {
        let opcode = random.random::<u8>();
        let row = OPCODES[usize::from(opcode)];
        if row.operation == Operation::Jam || documented && !is_documented(row.operation) {
            continue;
        }
        code.push(opcode);
        match row.mode {
            Mode::Implied | Mode::Accumulator => {}
            Mode::Relative => code.push(random.random_range(-40_i8..40) as u8),
            Mode::Absolute | Mode::AbsoluteX | Mode::AbsoluteY | Mode::Indirect => {
                let page: u8 = *[0x00, 0x02, 0xF0, 0xF3, 0xF7, 0xFF, 0x01, 0xBF]
                    .choose(random)
                    .expect("the list is not empty");
                code.extend([random.random(), page]);
            }
            _ if random.random_bool(0.7) => code.push(random.random_range(0x80..=0xFF)),
            _ => code.push(random.random()),
        }
    }
    code.truncate(size);
    // The vectors of reset and BRK point to the start and to the middle.
    code[size - 4..].copy_from_slice(&[0x00, 0xF0, 0x00, 0xF4]);
    code
}

fn image(random: &mut StdRng, scheme: Scheme) -> Arc<[u8]> {
    let (banks, size) = match scheme {
        Scheme::Rom2K => (1, 2048),
        Scheme::F8 | Scheme::Fe => (2, 4096),
        Scheme::E0 => (8, 1024),
        _ => (1, 4096),
    };
    let documented = random.random_bool(0.8);
    (0..banks).flat_map(|_| bank(random, size, documented)).collect()
}

/// The machine after a frame.
struct Frame {
    cpu: Cpu,
    ram: [u8; RAM],
    sound: SoundRegisters,
    screen: Vec<u8>,
}

/// Runs frames with random input, about half of them undrawn at first, and returns the machine after each
/// frame.
fn play(console: &mut Console, seed: u64, frames: usize) -> Vec<Frame> {
    let mut random = StdRng::seed_from_u64(seed);
    (0..frames)
        .map(|_| {
            let stick = Joystick { up: random.random(), fire: random.random(), ..Joystick::default() };
            let paddle = Paddle { resistance: random.random_range(0..2_000_000), fire: random.random() };
            console.set_inputs(Inputs {
                joysticks: [stick, Joystick::default()],
                paddles: [paddle, Paddle::default(), Paddle::default(), Paddle::default()],
                ..Inputs::default()
            });
            if random.random() {
                console.run_frame();
            } else {
                console.run_frame_undrawn();
                console.draw_screen();
            }
            Frame {
                cpu: console.cpu().clone(),
                ram: *console.ram(),
                sound: console.sound_registers(),
                screen: console.screen().to_vec(),
            }
        })
        .collect()
}

const SCHEMES: [Scheme; 5] = [Scheme::Rom2K, Scheme::Rom4K, Scheme::F8, Scheme::E0, Scheme::Fe];

fn random_cartridge(random: &mut StdRng) -> Cartridge {
    let scheme = *SCHEMES.choose(random).expect("the list is not empty");
    Cartridge::new(image(random, scheme), scheme).expect("the image has the scheme's size")
}

fn console(cartridge: &Cartridge, left: Controller, execution: Execution) -> Console {
    let wiring = Wiring { left, ..Wiring::default() };
    let options = ConsoleOptions { wiring, tv: Some(TvFormat::Ntsc), execution, ..ConsoleOptions::default() };
    Console::new(cartridge.clone(), &options)
}

/// Returns a cartridge of 4 KB that starts with `program` and ends in the vectors `end`.
fn cartridge_of(program: &[u8], end: [u8; 4]) -> Cartridge {
    let mut image = vec![0; 4096];
    image[..program.len()].copy_from_slice(program);
    image[4092..].copy_from_slice(&end);
    Cartridge::new(image.into(), Scheme::Rom4K).expect("the image has the scheme's size")
}

const MODES: [Execution; 3] = [Execution::Interpreted, Execution::WhenHot, Execution::Eager];

fn in_every_mode(cartridge: &Cartridge) -> [Console; 3] {
    MODES.map(|execution| console(cartridge, Controller::Joystick, execution))
}

/// Asserts that every execution mode leaves the same machine after each of `frames` drawn frames of a program that
/// counts them at $90.
fn assert_same_frames(consoles: &mut [Console; 3], frames: usize) {
    for frame in 0..frames {
        consoles.iter_mut().for_each(Console::run_frame);
        let [interpreted, translated @ ..] = &*consoles;
        for (console, execution) in translated.iter().zip(&MODES[1..]) {
            let when = format!("after frame {frame}, {execution:?}");
            assert_eq!(console.cpu(), interpreted.cpu(), "registers {when}");
            assert_eq!(console.ram(), interpreted.ram(), "RAM {when}");
            assert!(console.screen() == interpreted.screen(), "screen {when}");
        }
    }
    assert!(consoles[0].ram()[0x10] > 0, "the program counts frames");
    if Native::new().is_some() {
        assert!(consoles[2].natively_executed() > 0);
    }
}

/// From frame 20 on, the program ends a frame early if player 0 has hit the playfield, which it always has. The rows
/// below still show an older frame.
#[test]
fn nothing_is_drawn_after_a_read_of_an_open_latch() {
    let program = [
        0xA9, 0xFF, 0x85, 0x1B, 0x85, 0x0D, 0x85, 0x02, 0x85, 0x10, // GRP0, PF0 = $FF, WSYNC, RESP0
        0xA9, 0x00, 0x85, 0x90, // $90 = 0
        0x85, 0x2C, // frame: STA CXCLR
        0xE6, 0x90, // INC $90
        0xA9, 0x02, 0x85, 0x00, 0x85, 0x02, 0x85, 0x02, 0x85, 0x02, // VSYNC = 2, three WSYNC
        0xA9, 0x00, 0x85, 0x00, // VSYNC = 0
        0xA5, 0x90, 0x85, 0x09, // COLUBK = $90
        0xA2, 0x96, 0x85, 0x02, 0xCA, 0xD0, 0xFB, // 150 lines
        0xA5, 0x90, 0xC9, 0x14, 0x90, 0x04, // LDA $90, CMP #20, BCC rest
        0x24, 0x02, 0x30, 0xD9, // BIT CXP0FB, BMI frame
        0xA5, 0x90, 0x49, 0xF0, 0x85, 0x09, // rest: COLUBK = $90 ^ $F0
        0xA2, 0x69, 0x85, 0x02, 0xCA, 0xD0, 0xFB, // 105 lines
        0x4C, 0x0E, 0xF0, // JMP frame
    ];
    assert_same_frames(&mut in_every_mode(&cartridge_of(&program, [0x00, 0xF0, 0x00, 0xF0])), 40);
}

#[test]
fn code_that_leaves_the_cartridge_finds_the_last_byte_on_the_bus() {
    // The NOP at $FFFF leaves its opcode on the bus, so the TIA's registers from $00 on read as $2A or $AA: ROL A or
    // TAX. The RAM at $80 jumps back.
    let begin = [
        0xA2, 0xFF, 0x9A, // LDX #$FF, TXS
        0xA9, 0x4C, 0x85, 0x80, 0xA9, 0x0F, 0x85, 0x81, 0xA9, 0xF0, 0x85, 0x82, // RAM: JMP loop
        0xE6, 0x90, // loop: INC $90
        0xA9, 0x02, 0x85, 0x00, 0x85, 0x02, 0x85, 0x02, 0xA9, 0x00, 0x85, 0x00, // VSYNC for two lines
    ];
    let falls_through = [0x4C, 0xFF, 0xFF]; // JMP $FFFF
    let returns = [0xA9, 0xFF, 0x48, 0x48, 0x60]; // LDA #$FF, PHA, PHA, RTS
    for end in [&falls_through[..], &returns] {
        assert_same_frames(
            &mut in_every_mode(&cartridge_of(&[&begin, end].concat(), [0x00, 0xF0, 0x00, 0xEA])),
            60,
        );
    }
}

#[test]
fn every_execution_mode_leaves_the_same_machine() {
    const PROGRAMS: u64 = 40;
    const FRAMES: usize = 12;
    let first: u64 = rand::random();
    let mut executed = [0; 2];
    let mut with_sound = 0;
    for seed in (0..PROGRAMS).map(|program| first.wrapping_add(program)) {
        println!("seed {seed}");
        let mut random = StdRng::seed_from_u64(seed);
        let cartridge = random_cartridge(&mut random);
        let left =
            *[Controller::Joystick, Controller::Paddles].choose(&mut random).expect("the list is not empty");
        let mut interpreted = console(&cartridge, left, Execution::Interpreted);
        let expected = play(&mut interpreted, seed, FRAMES);
        with_sound += u64::from(expected.iter().any(|frame| frame.sound != SoundRegisters::default()));
        assert_eq!((interpreted.natively_executed(), interpreted.compiled_regions()), (0, 0));
        for (execution, executed) in [Execution::WhenHot, Execution::Eager].into_iter().zip(&mut executed) {
            let mut translated = console(&cartridge, left, execution);
            let frames = play(&mut translated, seed, FRAMES);
            *executed += translated.natively_executed();
            for (frame, (got, expected)) in frames.iter().zip(&expected).enumerate() {
                let when = format!("after frame {frame} of {}, {execution:?}", cartridge.scheme());
                assert_eq!(got.cpu, expected.cpu, "registers {when}");
                assert_eq!(got.ram, expected.ram, "RAM {when}");
                assert_eq!(got.sound, expected.sound, "sound registers {when}");
                assert!(got.screen == expected.screen, "screen {when}");
            }
        }
    }
    println!("instructions executed by native code, when hot and eagerly: {executed:?}");
    println!("programs that write sound registers: {with_sound} of {PROGRAMS}");
    assert!(with_sound > PROGRAMS / 10, "{with_sound} of {PROGRAMS} programs");
    if Native::new().is_some() {
        assert!(executed.iter().all(|&executed| executed > 1_000 * PROGRAMS), "{executed:?}");
    }
}

/// Returns a program that stores the timer, which counts cycles, in RAM for each of `delays`. Before, it waits for the
/// end of a line, executes instructions for that number of cycles, and waits again.
fn waiting_program(delays: &[usize]) -> Arc<[u8]> {
    const NOP: u8 = 0xEA;
    const BIT_80: [u8; 2] = [0x24, 0x80];
    const STA_WSYNC: [u8; 2] = [0x85, 0x02];
    // LDA #2, STA VSYNC, STA WSYNC, LDA #0, STA VSYNC.
    let mut code = vec![0xA9, 2, 0x85, 0x00, 0x85, 0x02, 0xA9, 0, 0x85, 0x00];
    for (address, &delay) in (0x80..).zip(delays) {
        code.extend(STA_WSYNC);
        // LDA #$FF, STA TIM1T: six cycles.
        code.extend([0xA9, 0xFF, 0x8D, 0x94, 0x02]);
        // BIT takes three cycles, NOP two.
        if delay % 2 == 1 {
            code.extend(BIT_80);
        }
        code.extend(std::iter::repeat_n(NOP, (delay - 6 - delay % 2 * 3) / 2));
        code.extend(STA_WSYNC);
        // LDA INTIM, STA address.
        code.extend([0xAD, 0x84, 0x02, 0x85, address]);
    }
    // JMP $F000.
    code.extend([0x4C, 0x00, 0xF0]);
    code.resize(4096, NOP);
    code[4092..].copy_from_slice(&[0x00, 0xF0, 0x00, 0xF0]);
    code.into()
}

#[test]
fn waits_end_with_the_line_from_every_distance() {
    // WSYNC takes three cycles, a line 76.
    let delays = [6, 70, 71, 72, 73, 74, 75, 76, 146, 147, 148, 149, 150, 151, 152];
    let cartridge = Cartridge::new(waiting_program(&delays), Scheme::Rom4K).expect("the image has 4 KB");
    for execution in [Execution::Interpreted, Execution::Eager] {
        let mut console = console(&cartridge, Controller::Joystick, execution);
        let last = play(&mut console, 1, 4).pop().expect("there are frames");
        for (&delay, &count) in delays.iter().zip(&last.ram) {
            let lines = (delay + 3).div_ceil(76) as u8;
            let expected = last.ram[0].wrapping_sub((lines - 1) * 76);
            assert_eq!(count, expected, "after {delay} cycles, {execution:?}");
        }
    }
}

/// A program that does not write to the TIA for 2^31 colour clocks, about 4,770 requests, shifts its lines by a colour
/// clock against the CPU cycles.
#[test]
fn waits_end_before_a_line_that_begins_within_a_cycle() {
    let program = [
        0xA5, 0xFF, 0xF0, 0xFC, // idle: LDA $FF, BEQ idle
        0xA9, 0xFF, 0x8D, 0x94, 0x02, // TIM1T = $FF
        0xE6, 0x90, // frame: INC $90
        0xA9, 0x02, 0x85, 0x00, 0x85, 0x02, 0x85, 0x02, 0x85, 0x02, // VSYNC = 2, three WSYNC
        0xA9, 0x00, 0x85, 0x00, // VSYNC = 0
        0xA2, 0xFF, 0x85, 0x02, 0xCA, 0xD0, 0xFB, // 255 lines
        0xAD, 0x84, 0x02, 0x85, 0x80, // $80 = INTIM
        0x4C, 0x09, 0xF0, // JMP frame
    ];
    let mut consoles = in_every_mode(&cartridge_of(&program, [0x00, 0xF0, 0x00, 0xF0]));
    for console in &mut consoles {
        console.ram_mut().fill(0);
        console.run_frame();
        console.pass_time((1 << 31) / 3 + 1);
        console.ram_mut()[0x7F] = 1;
    }
    assert_same_frames(&mut consoles, 20);
}

/// The address after $3FFF, $7FFF or $BFFF is not in the cartridge, although A13 selects the next byte of an FE image.
#[test]
fn indexed_reads_leave_an_fe_cartridge() {
    #[rustfmt::skip]
    let mut program = vec![
        0xA9, 0x11, 0x85, 0x90, // LDA #$11, STA $90
        0xA9, 0x00, 0x85, 0x81, 0x85, 0x82, 0x85, 0x83, // LDA #0, STA $81, STA $82, STA $83
        0xA2, 0xA0,             // LDX #$A0
    ];
    let start = program.len() as u8;
    // LDA $xFF0,X: a mirror of $90. ORA $81, STA $81, since the interpreter runs the end of the frame, and so on.
    for (page, sum) in [(0x3F, 0x81), (0x7F, 0x82), (0xBF, 0x83)] {
        program.extend([0xBD, 0xF0, page, 0x05, sum, 0x85, sum]);
    }
    program.extend([0xA9, 0x00, 0x85, 0x00, 0x4C, start, 0xF0]); // LDA #0, STA VSYNC, JMP start
    let mut rom = vec![0xEE; 8192];
    rom[..program.len()].copy_from_slice(&program);
    rom[4092..4096].copy_from_slice(&[0x00, 0xF0, 0x00, 0xF0]);
    let cartridge = Cartridge::new(rom.into(), Scheme::Fe).expect("the image has 8 KB");
    for execution in [Execution::Interpreted, Execution::Eager] {
        let mut console = console(&cartridge, Controller::Joystick, execution);
        console.run_frame();
        console.run_frame();
        assert_eq!(console.ram()[1..4], [0x11; 3], "{execution:?}");
    }
}

#[test]
fn the_number_of_compiled_functions_is_limited() {
    let Some(mut native) = Native::new() else {
        return;
    };
    native.capacity = 2;
    let (unit, rom) = unit_of([0xEA; 3]);
    let region = Region::discover(&unit, &rom, 0xF000).expect("NOP is supported");
    let compiled = [(); 3].map(|()| {
        let function = emit(&region, &unit, &rom, native.isa(), &|_| std::ptr::null());
        native.compile(function.expect("NOP is supported")).is_some()
    });
    assert_eq!((compiled, native.compiled()), ([true, true, false], 2));
}

/// Runs a few programs on heap-allocated consoles, so that `tests/memcheck` detects accesses outside of them.
#[test]
fn native_code_stays_within_its_memory() {
    let mut regions = 0;
    for seed in 0..10 {
        let mut random = StdRng::seed_from_u64(seed);
        let cartridge = random_cartridge(&mut random);
        let mut console = Box::new(console(&cartridge, Controller::Paddles, Execution::Eager));
        play(&mut console, seed, 2);
        regions += console.compiled_regions();
    }
    assert!(regions > 0 || Native::new().is_none(), "no code was compiled");
}

/// Returns a unit of 4 KB that begins with `bytes` followed by NOPs.
fn unit_of(bytes: [u8; 3]) -> (Unit, Vec<u8>) {
    let mut rom = vec![0xEA; 4096];
    rom[..3].copy_from_slice(&bytes);
    // BRK leads to ROM.
    rom[4094..].copy_from_slice(&[0x00, 0xF0]);
    let cartridge = Cartridge::new(rom.clone().into(), Scheme::Rom4K).expect("the image has 4 KB");
    (cartridge.unit(0xF000).expect("the scheme is translated"), rom)
}

#[test]
fn the_emitter_supports_every_instruction_of_a_region() {
    const OPERANDS: [[u8; 2]; 5] = [[0x00, 0x00], [0x80, 0x00], [0x90, 0x02], [0x00, 0xF1], [0xFF, 0xFF]];
    let Some(native) = Native::new() else {
        return;
    };
    let mut taken = 0;
    for (code, [low, high]) in (0..=255).flat_map(|code| OPERANDS.map(|operand| (code, operand))) {
        let (unit, rom) = unit_of([code, low, high]);
        if let Some(region) = Region::discover(&unit, &rom, 0xF000) {
            taken += 1;
            let emitted = emit(&region, &unit, &rom, native.isa(), &|_| std::ptr::null());
            assert!(emitted.is_ok(), "{code:02X} {low:02X} {high:02X}: {:?}", emitted.err());
        }
    }
    assert!(taken > 500, "only {taken} instructions were taken");
}

#[test]
fn the_emitter_refuses_unsupported_instructions() {
    let Some(native) = Native::new() else {
        return;
    };
    let (unit, rom) = unit_of([0xEA; 3]);
    for (code, opcode) in (0..=255).zip(OPCODES) {
        if is_documented(opcode.operation) || matches!(opcode.operation, Operation::Lax | Operation::Sax) {
            continue;
        }
        let pc = unit.base;
        let instruction = Instruction { pc, code, opcode, operand: 0x80 };
        let block = BasicBlock { instructions: vec![instruction], next: instruction.next() };
        let region = Region { entry: pc, blocks: BTreeMap::from([(pc, block)]) };
        assert_eq!(
            emit(&region, &unit, &rom, native.isa(), &|_| std::ptr::null()).err(),
            Some(Unsupported(opcode))
        );
    }
}

#[test]
fn undrawn_frames_and_freed_screens_leave_the_same_machine_and_the_same_screens() {
    let first: u64 = rand::random();
    let mut freed = 0;
    for seed in (0..60).map(|program| first.wrapping_add(program)) {
        println!("seed {seed}");
        let mut random = StdRng::seed_from_u64(seed);
        let rom = image(&mut random, Scheme::Rom4K);
        let cartridge = Cartridge::new(rom, Scheme::Rom4K).expect("the image has the scheme's size");
        let mut drawn = Console::new(cartridge, &ConsoleOptions::default());
        let mut undrawn = drawn.clone();
        for frame in 0..30 {
            drawn.run_frame();
            if random.random_bool(0.3) {
                undrawn.run_frame();
                assert!(undrawn.screen() == drawn.screen(), "screen after frame {frame}");
            } else {
                undrawn.run_frame_undrawn();
                if random.random_bool(0.2) {
                    undrawn.draw_screen();
                    assert!(undrawn.screen() == drawn.screen(), "screen drawn after frame {frame}");
                }
            }
            assert_eq!(undrawn.ram(), drawn.ram(), "RAM after frame {frame}");
            assert_eq!(undrawn.cpu(), drawn.cpu(), "registers after frame {frame}");
            assert_eq!(undrawn.sound_registers(), drawn.sound_registers(), "sound after frame {frame}");
            if random.random_bool(0.3) {
                undrawn.free_screens();
                freed += usize::from(undrawn.screen().is_empty());
            }
        }
        undrawn.draw_screens();
        assert!(undrawn.screen() == drawn.screen(), "the last screen");
        assert!(undrawn.previous_screen() == drawn.previous_screen(), "the previous screen");
    }
    assert_ne!(freed, 0, "no screen was ever freed");
}
