//! Programs that occasionally read and clear collision latches, on a console that skips latches and on one that skips
//! none.

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

use crate::tia::registers::{
    CTRLPF, CXCLR, ENABL, ENAM0, ENAM1, GRP0, GRP1, HMOVE, HMP0, NUSIZ0, PF0, PF1, PF2, RESBL, RESM0, RESM1,
    RESP0, RESP1, VBLANK, VSYNC, WSYNC,
};
use crate::{Cartridge, Console, ConsoleOptions, Execution, TvFormat};

/// The byte of RAM that counts frames, and the first of the bytes that accumulate the collisions read.
const FRAME: u8 = 0x80;
const READ: u8 = 0x90;

/// A program of 4 KB.
struct Program(Vec<u8>);

impl Program {
    /// Stores a constant in a register.
    fn store(&mut self, register: u16, value: u8) {
        self.0.extend([0xA9, value, 0x85, register as u8]);
    }

    /// Executes `code` in the frames whose index has a zero in each bit of `mask`.
    fn in_some_frames(&mut self, mask: u8, code: &[u8]) {
        self.0.extend([0xA5, FRAME, 0x29, mask, 0xD0, code.len() as u8]);
        self.0.extend(code);
    }

    /// Emits a line with random objects, reads of the collision registers in `reads`, and a fraction of `clears`.
    fn line(&mut self, random: &mut StdRng, reads: &[u8], clears: f64) {
        const OBJECTS: [u16; 18] = [
            GRP0, GRP1, ENAM0, ENAM1, ENABL, PF0, PF1, PF2, RESP0, RESP1, RESM0, RESM1, RESBL, NUSIZ0,
            CTRLPF, HMP0, HMOVE, VBLANK,
        ];
        self.0.extend([0x85, WSYNC as u8]);
        for _ in 0..random.random_range(0..4) {
            let register = *OBJECTS.choose(random).expect("the list is not empty");
            let value = random.random::<u8>() & random.random::<u8>();
            self.store(register, if register == VBLANK { value & 0xC0 } else { value });
        }
        let mask = *[0, 1, 3, 7, 0x1F].choose(random).expect("the list is not empty");
        if random.random_bool(clears) {
            self.in_some_frames(mask, &[0x85, CXCLR as u8]);
        }
        if random.random_bool(0.1) && !reads.is_empty() {
            let register = *reads.choose(random).expect("the list is not empty");
            let sum = READ + random.random_range(0..32);
            // LDA register, ADC sum, STA sum
            self.in_some_frames(mask, &[0xA5, register, 0x65, sum, 0x85, sum]);
        }
    }

    fn random(random: &mut StdRng) -> Vec<u8> {
        const BLOCKS: usize = 3;
        /// Three blocks cover the screen, and end before a write ends the frame.
        const LINES: u8 = 84;
        let reads: Vec<u8> = (0..random.random_range(0..5)).map(|_| random.random_range(0..8)).collect();
        let clears = *[0.01, 0.02, 0.05, 0.2].choose(random).expect("the list is not empty");
        let mut program = Self(vec![0xD8]);
        let frame = program.0.len();
        program.0.extend([0xE6, FRAME]);
        program.store(VSYNC, 2);
        program.0.extend([0x85, WSYNC as u8, 0x85, WSYNC as u8]);
        program.store(VSYNC, 0);
        for _ in 0..BLOCKS {
            let lines = random.random_range(5..12);
            program.0.extend([0xA2, LINES.div_ceil(lines)]);
            let repeated = program.0.len();
            for _ in 0..lines {
                program.line(random, &reads, clears);
            }
            // DEX, BEQ over a JMP back
            let [low, high] = (0xF000 + repeated as u16).to_le_bytes();
            program.0.extend([0xCA, 0xF0, 0x03, 0x4C, low, high]);
        }
        let [low, high] = (0xF000 + frame as u16).to_le_bytes();
        program.0.extend([0x4C, low, high]);
        assert!(program.0.len() < 4092, "{} bytes", program.0.len());
        program.0.resize(4092, 0xEA);
        program.0.extend([0x00, 0xF0, 0x00, 0xF0]);
        program.0
    }
}

#[test]
fn programs_read_the_same_collisions_whether_or_not_the_console_skips_latches() {
    const PROGRAMS: u64 = 60;
    const FRAMES: u32 = 120;
    let first: u64 = rand::random();
    let (mut computed, mut left_unknown) = (0, 0);
    for seed in (0..PROGRAMS).map(|program| first.wrapping_add(program)) {
        println!("seed {seed}");
        let mut random = StdRng::seed_from_u64(seed);
        let cartridge = Cartridge::detect(Program::random(&mut random).into()).expect("the image has 4 KB");
        let execution = *[Execution::WhenHot, Execution::Eager, Execution::Interpreted]
            .choose(&mut random)
            .expect("the list is not empty");
        let options = ConsoleOptions { tv: Some(TvFormat::Ntsc), execution, ..ConsoleOptions::default() };
        let mut skipping = Console::new(cartridge, &options);
        let mut complete = skipping.clone();
        complete.skip_no_latches();
        for frame in 0..FRAMES {
            if random.random_bool(0.2) {
                skipping.forget_latches_read();
            }
            if random.random() {
                skipping.run_frame();
                complete.run_frame();
                assert!(skipping.screen() == complete.screen(), "screen after frame {frame}");
            } else {
                skipping.run_frame_undrawn();
                complete.run_frame_undrawn();
            }
            assert_eq!(skipping.ram(), complete.ram(), "RAM after frame {frame}");
            assert_eq!(skipping.cpu(), complete.cpu(), "registers after frame {frame}");
            left_unknown += u32::from(skipping.machine.tia.unknown_latches() != 0);
            if random.random_bool(0.1) {
                computed += u32::from(skipping.machine.tia.unknown_latches() != 0);
                skipping.draw_screens();
                complete.draw_screens();
                assert_eq!(skipping.machine.tia.unknown_latches(), 0);
                assert_eq!(
                    skipping.machine.tia.latches(),
                    complete.machine.tia.latches(),
                    "latches after frame {frame}"
                );
                assert!(skipping.screen() == complete.screen(), "screen drawn after frame {frame}");
            }
        }
        assert_eq!(complete.machine.tia.unknown_latches(), 0);
    }
    println!("{computed} times computed, {left_unknown} frames left latches unknown");
    assert!(computed > 100 && left_unknown > FRAMES * PROGRAMS as u32 / 4, "{computed}, {left_unknown}");
}
