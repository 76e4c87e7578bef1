//! Translated code against the interpreter, on random programs.

use std::sync::Arc;

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

use crate::cpu::{Mode, OPCODES, Operation};
use crate::{Cartridge, Console, ConsoleOptions, Inputs, Joystick, Scheme};

/// A bank of random instructions. Most addresses are those that programs use: RAM, the chips, tables in ROM.
fn bank(random: &mut StdRng, size: usize, documented: bool) -> Vec<u8> {
    let mut code = Vec::with_capacity(size);
    while code.len() < size {
        let opcode = random.random::<u8>();
        let row = OPCODES[usize::from(opcode)];
        if row.operation == Operation::Jam || documented && row.operation as u8 > Operation::Tya as u8 {
            continue;
        }
        code.push(opcode);
        match row.mode {
            Mode::Implied | Mode::Accumulator => {}
            Mode::Relative => code.push(random.random_range(-40_i8..40) as u8),
            Mode::Absolute | Mode::AbsoluteX | Mode::AbsoluteY | Mode::Indirect => {
                let page: u8 = *[0x00, 0x02, 0xF0, 0xF3, 0xF7, 0xFF, 0x01].choose(random).expect("a page");
                code.extend([random.random(), page]);
            }
            _ if random.random_bool(0.7) => code.push(random.random_range(0x80..=0xFF)),
            _ => code.push(random.random()),
        }
    }
    code.truncate(size);
    // Reset and BRK lead to the beginning and the middle.
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

/// Plays some frames, every other one unseen; returns what can be told of each.
fn play(mut console: Console, seed: u64) -> Vec<(String, [u8; 128], Vec<u8>)> {
    let mut random = StdRng::seed_from_u64(seed);
    (0..12)
        .map(|_| {
            let stick = Joystick { up: random.random(), fire: random.random(), ..Joystick::default() };
            console.set_inputs(Inputs { joysticks: [stick, Joystick::default()], ..Inputs::default() });
            if random.random() {
                console.run_frame();
            } else {
                console.run_frame_unseen();
                console.show();
            }
            (format!("{:?}", console.cpu()), *console.ram(), console.screen().to_vec())
        })
        .collect()
}

#[test]
fn translated_programs_run_as_interpreted_ones() {
    let first: u64 = rand::random();
    let schemes = [Scheme::Rom2K, Scheme::Rom4K, Scheme::F8, Scheme::E0, Scheme::Fe];
    for seed in (0..40).map(|program| first.wrapping_add(program)) {
        println!("seed {seed}");
        let mut random = StdRng::seed_from_u64(seed);
        let scheme = *schemes.choose(&mut random).expect("a scheme");
        let mut interpreted = Cartridge::new(image(&mut random, scheme), scheme).expect("a cartridge");
        let mut translated = interpreted.clone();
        interpreted.interpret_only();
        translated.translate_eagerly();
        let options = ConsoleOptions { tv: Some(crate::TvFormat::Ntsc), ..ConsoleOptions::default() };
        let [expected, got] =
            [interpreted, translated].map(|cartridge| play(Console::new(cartridge, &options), seed));
        for (frame, (expected, got)) in expected.iter().zip(&got).enumerate() {
            assert_eq!(got.0, expected.0, "registers after frame {frame} of {scheme}");
            assert_eq!(got.1, expected.1, "RAM after frame {frame} of {scheme}");
            assert!(got.2 == expected.2, "picture after frame {frame} of {scheme}");
        }
    }
}

#[test]
fn unseen_frames_and_forgotten_pictures_leave_the_same_machine_and_the_same_pictures() {
    let first: u64 = rand::random();
    let mut forgotten = 0;
    for seed in (0..60).map(|program| first.wrapping_add(program)) {
        println!("seed {seed}");
        let mut random = StdRng::seed_from_u64(seed);
        let rom = image(&mut random, Scheme::Rom4K);
        let cartridge = Cartridge::new(rom, Scheme::Rom4K).expect("a cartridge");
        let mut seen = Console::new(cartridge, &ConsoleOptions::default());
        let mut unseen = seen.clone();
        for frame in 0..30 {
            seen.run_frame();
            if random.random_bool(0.3) {
                unseen.run_frame();
                assert!(unseen.screen() == seen.screen(), "picture after frame {frame}");
            } else {
                unseen.run_frame_unseen();
                if random.random_bool(0.2) {
                    unseen.show();
                    assert!(unseen.screen() == seen.screen(), "shown picture after frame {frame}");
                }
            }
            assert_eq!(unseen.ram(), seen.ram(), "RAM after frame {frame}");
            assert_eq!(unseen.cpu(), seen.cpu(), "registers after frame {frame}");
            if random.random_bool(0.3) {
                unseen.forget_pictures();
                forgotten += usize::from(unseen.screen().is_empty());
            }
        }
        unseen.draw_hidden();
        assert!(unseen.screen() == seen.screen(), "the last picture");
        assert!(unseen.previous_screen() == seen.previous_screen(), "the picture before");
    }
    assert_ne!(forgotten, 0, "no picture was ever forgotten");
}
