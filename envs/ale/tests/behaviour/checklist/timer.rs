//! The RIOT: its timer before and after expiry, its flag, and the effect of a reset.

use vcs::registers::VBLANK;
use vcs::{Console, ConsoleOptions, Controller, Inputs, Paddle, TvFormat, Wiring};

use super::program::{Event, Program, code, image, play, read};

const INTIM: u16 = 0x0284;
const TIMINT: u16 = 0x0285;
const INPT0: u16 = 0x08;

/// LDA #2, STA TIM8T: 6 cycles.
const SET_TIMER: [u8; 5] = [0xA9, 0x02, 0x8D, 0x95, 0x02];

fn ntsc() -> ConsoleOptions {
    ConsoleOptions { tv: Some(TvFormat::Ntsc), ..ConsoleOptions::default() }
}

/// Sets TIM8T to 2 at cycle 6 of a line and does some reads. Returns the first bytes of RAM.
fn timed(name: &str, reads: &[Event<'_>]) -> [u8; 8] {
    let events = [&[code(50, &SET_TIMER, 6)], reads].concat();
    let ale = Program::new(&[]).frame(262, &events).play(name, 1);
    *ale.ram().first_chunk().expect("eight bytes")
}

/// A read at cycle `c` comes `c - 7` cycles later: the timer is 1 for eight cycles, 0 for eight, then it has expired.
#[test]
fn the_timer_counts_every_eighth_cycle_until_it_expires() {
    let ram =
        timed("timer", &[read(50, 10, INTIM, 0x80), read(50, 19, INTIM, 0x81), read(51, 4, TIMINT, 0x82)]);
    // 3, 12 and, in the next line, 73 cycles.
    assert_eq!(ram[..3], [1, 0, 0x80]);
}

#[test]
fn an_expired_timer_counts_every_cycle_until_it_is_read() {
    // After 20 cycles, 5 of them since expiry, it is 2 - 20 / 8 - 5. After this read only the division counts: 2 - 44 /
    // 8 - 5.
    let ram = timed("timer_latched", &[read(50, 27, INTIM, 0x80), read(50, 51, INTIM, 0x81)]);
    assert_eq!(ram[..2], [0xFB, 0xF8]);
    // Without a read before cycle 44, 29 of them since expiry, it is 2 - 44 / 8 - 29.
    let ram = timed("timer_free", &[read(50, 51, INTIM, 0x81)]);
    assert_eq!(ram[1], 0xE0);
}

#[test]
fn the_flag_is_set_on_expiry_and_cleared_by_reading_the_timer() {
    let reads = [
        // After 15 and 24 cycles; reading the flag does not clear it.
        read(50, 22, TIMINT, 0x80),
        read(50, 31, TIMINT, 0x81),
        read(50, 38, TIMINT, 0x82),
        read(50, 45, INTIM, 0x83),
        read(50, 52, TIMINT, 0x84),
    ];
    let ram = timed("timer_flag", &reads);
    assert_eq!([ram[0], ram[1], ram[2], ram[4]], [0x00, 0x80, 0x80, 0x00]);
}

/// The generator that fills RAM at power-up also draws the initial timer of each reset.
#[test]
fn every_reset_starts_the_timer_at_the_next_random_value() {
    // LDA INTIM, STA $80, endless JMP: the first read gives the value minus one.
    let program = image(&[0xAD, 0x84, 0x02, 0x85, 0x80, 0x4C, 0x05, 0xF0]);
    let cartridge = vcs::Cartridge::detect(program.clone().into()).expect("a cartridge");
    let mut console = Console::new(cartridge, &ntsc());
    // 58 belongs to power-up, 51 to the reset after it.
    for timer in [51, 32, 74, 65, 64, 78, 39, 92, 49] {
        console.run_frame();
        assert_eq!(console.ram()[0], timer - 1);
        console.reset();
    }
    // Detection of the television system and the game's reset draw one value each.
    assert_eq!(play("timer_start", program, 1).ram()[0], 74 - 1);
}

#[test]
fn ram_is_random_at_power_up_and_keeps_the_writes_of_detection() {
    // INC $80 once per frame; the rest of RAM is not written.
    let program = Program::new(&[]).frame(262, &[code(20, &[0xE6, 0x80], 5)]);
    let power_up =
        [0xB8, 0x96, 0xC0, 0x49, 0xCB, 0x55, 0xC8, 0x7F, 0xFB, 0xB4, 0x45, 0x66, 0x2B, 0x34, 0x10, 0xCA];
    let console = program.console(&ntsc());
    assert_eq!(console.ram()[..16], power_up);
    assert_eq!(console.ram()[124..], [0xAB, 0x14, 0x6F, 0xC0]);
    let console = program.console(&ConsoleOptions::default());
    assert_eq!(console.ram()[..2], [0xB8 + 60, 0x96]);
    // 60 frames of detection, 68 of the reset, one act.
    let ale = program.play("frames_of_a_reset", 1);
    assert_eq!(ale.ram()[..2], [0xB8_u8.wrapping_add(60 + 68 + 1), 0x96]);
}

fn paddles() -> Wiring {
    Wiring { left: Controller::Paddles, ..Wiring::default() }
}

/// A paddle of 0 ohms is always charged; one with a resistance is not at the beginning of a frame.
#[test]
fn paddles_have_zero_resistance_during_detection() {
    let program = Program::new(&[]).frame(262, &[read(20, 8, INPT0, 0x80)]);
    let options = ConsoleOptions { wiring: paddles(), ..ConsoleOptions::default() };
    let mut console = program.console(&options);
    assert_eq!(console.ram()[0] & 0x80, 0x80);
    let middle = Paddle { resistance: 408823, fire: false };
    console.set_inputs(Inputs { paddles: [middle; 4], ..Inputs::default() });
    console.run_frame();
    assert_eq!(console.ram()[0] & 0x80, 0);
}

/// Times are rebased at the beginning of a frame, so that a discharge that ended in the previous frame is before time
/// 0; times are compared as unsigned numbers.
#[test]
fn a_paddle_charging_since_the_previous_frame_never_reads_full() {
    // The discharge ends at cycle 10 of the first frame. 408,823 ohms take 7,784 cycles, 102.4 lines.
    let program = Program::new(&[(VBLANK, 0x80), (VBLANK, 0)])
        .frame(262, &[read(101, 8, INPT0, 0x80), read(110, 8, INPT0, 0x81)]);
    let mut console = program.console(&ConsoleOptions { wiring: paddles(), ..ntsc() });
    let middle = Paddle { resistance: 408823, fire: false };
    console.set_inputs(Inputs { paddles: [middle; 4], ..Inputs::default() });
    for expected in [[0, 0x80], [0, 0], [0, 0]] {
        console.run_frame();
        assert_eq!([console.ram()[0] & 0x80, console.ram()[1] & 0x80], expected);
    }
}
