//! The environment's loop: random generators, sticky actions, ports, paddles, mode selection.

use ale::{Action, Ale, AleSettings, PoweredGame, game, roms};
use vcs::registers::VBLANK;
use vcs::{ConsoleOptions, Inputs, Joystick, Mt19937, TvFormat, Wiring};

use super::program::{Program, code, image, read};

const SWCHA: u16 = 0x0280;

const UP: u8 = 2;
const RIGHT: u8 = 3;
const LEFT: u8 = 4;
const DOWN: u8 = 5;

fn action(code: u8) -> Action {
    Action::new(code).expect("an action")
}

fn start(id: &str, image: Vec<u8>, repeat_action_probability: f32, seed: u32) -> Ale {
    let powered = PoweredGame::new(game(id).expect("a game"), image.into()).expect("a cartridge");
    let settings = AleSettings { repeat_action_probability, ..AleSettings::default() };
    Ale::new(&powered, settings, seed).expect("good settings")
}

/// Returns the value of the joystick port for each direction.
fn swcha(code: u8) -> u8 {
    match code {
        UP => 0xEF,
        DOWN => 0xDF,
        LEFT => 0xBF,
        RIGHT => 0x7F,
        _ => 0xFF,
    }
}

/// Returns a program that copies the joystick port to $80, and ends venture's episode when the joystick is up. The
/// rules of venture test $C6 = 0, $CD = $FF and bit 7 of $BF.
fn joystick_reader() -> Vec<u8> {
    #[rustfmt::skip]
    let end = [
        0xA9, 0x00, 0x85, 0xC6,       // LDA #$00, STA $C6
        0xA9, 0xFF, 0x85, 0xCD,       // LDA #$FF, STA $CD
        0xA5, 0x80, 0x49, 0xFF,       // LDA $80, EOR #$FF
        0x0A, 0x0A, 0x0A, 0x85, 0xBF, // ASL three times, STA $BF
    ];
    Program::new(&[]).frame(262, &[read(20, 8, SWCHA, 0x80), code(21, &end, 24)]).image()
}

#[test]
fn every_frame_draws_twice_and_the_first_draw_decides_stickiness() {
    const P: f32 = 0.25;
    for seed in [0, 1, 77] {
        let mut ale = start("venture", joystick_reader(), P, seed);
        let mut random = Mt19937::new(seed);
        let mut held = Action::NOOP.code();
        for frame in 0..500 {
            let wanted = [RIGHT, LEFT, DOWN][frame % 3];
            if f64::from(random.next_u32()) / 4294967296.0 >= f64::from(P) {
                held = wanted;
            }
            random.next_u32();
            ale.act(action(wanted), 1.0);
            assert_eq!(ale.ram()[0], swcha(held), "frame {frame} of seed {seed}");
        }
    }
}

#[test]
fn draws_continue_after_the_end_of_an_episode() {
    const P: f32 = 0.5;
    const SEED: u32 = 5;
    let mut ale = start("venture", joystick_reader(), P, SEED);
    let mut acts = 0;
    while !ale.game_over() {
        ale.act(action(UP), 1.0);
        acts += 1;
    }
    let (ram, frames) = (*ale.ram(), ale.frame_number());
    for _ in 0..9 {
        assert_eq!(ale.act(action(LEFT), 1.0), 0);
        acts += 1;
    }
    assert_eq!((*ale.ram(), ale.frame_number()), (ram, frames), "nothing is emulated");

    let mut random = Mt19937::new(SEED);
    (0..2 * acts).for_each(|_| _ = random.next_u32());
    ale.reset_game();
    let mut held = Action::NOOP.code();
    for frame in 0..50 {
        let wanted = [RIGHT, LEFT][frame % 2];
        if random.next_u32() >= 1 << 31 {
            held = wanted;
        }
        random.next_u32();
        ale.act(action(wanted), 1.0);
        assert_eq!(ale.ram()[0], swcha(held), "frame {frame}");
    }
}

#[test]
fn swapped_ports_put_player_a_on_the_right_port() {
    let program = Program::new(&[]).frame(262, &[read(20, 8, SWCHA, 0x80)]);
    for (swap_ports, expected) in [(false, 0x7F), (true, 0xF7)] {
        let wiring = Wiring { swap_ports, ..Wiring::default() };
        let options = ConsoleOptions { wiring, tv: Some(TvFormat::Ntsc), ..ConsoleOptions::default() };
        let mut console = program.console(&options);
        let right = Joystick { right: true, ..Joystick::default() };
        console.set_inputs(Inputs { joysticks: [right, Joystick::default()], ..Inputs::default() });
        console.run_frame();
        assert_eq!(console.ram()[0], expected);
    }
    for (id, swapped) in [("surround", true), ("wizard_of_wor", true), ("venture", false)] {
        assert_eq!(game(id).expect("a game").wiring.swap_ports, swapped, "{id}");
    }
}

/// Returns a program of 2 KB that counts in $80 the lines until a paddle is charged.
fn paddle_meter(input: u8) -> Vec<u8> {
    #[rustfmt::skip]
    let meter = [
        0xA9, 0x80, 0x85, VBLANK as u8, // LDA #$80, STA VBLANK: discharge
        0x85, 0x02,                     // STA WSYNC
        0xA9, 0x00, 0x85, VBLANK as u8, // LDA #$00, STA VBLANK: cycle 5 of a line
        0xA2, 0x00,                     // LDX #0
        0xE8, 0x85, 0x02,               // loop: INX, STA WSYNC
        0xA5, input, 0x10, 0xF9,        // LDA INPTn (cycle 3), BPL loop
        0x86, 0x80,                     // STX $80
        // End of the frame.
        0xA9, 0x02, 0x85, 0x00, 0x85, 0x02, 0x85, 0x02, 0xA9, 0x00, 0x85, 0x00,
        0x4C, 0x00, 0xF8,
    ];
    let mut rom = image(&meter).split_off(2048);
    rom[..meter.len()].copy_from_slice(&meter);
    rom[2044..].copy_from_slice(&[0x00, 0xF8, 0x00, 0xF8]);
    rom
}

/// Returns the line in which the paddle of player A is charged after these actions, each repeated some times.
fn charged_in_line(actions: &[(u8, u32)]) -> u8 {
    const INPT0: u8 = 0x08;
    let mut ale = start("breakout", paddle_meter(INPT0), 0.0, 0);
    // One more act, which does not turn the paddle, shows the position after the last one.
    for &(code, times) in actions.iter().chain([&(0, 1)]) {
        (0..times).for_each(|_| _ = ale.act(action(code), 1.0));
    }
    assert!(!ale.game_over());
    ale.ram()[0]
}

/// Line `n` is read `76 n - 2` cycles after the discharge; `r` ohms take `0.01904 r` cycles.
#[test]
fn a_paddle_turns_23000_ohms_a_frame_between_its_limits() {
    // Middle: 408,823 ohms, 7,784 cycles. One step to the left: 8,221 cycles. One and two to the right: 7,346 and
    // 6,908.
    assert_eq!(charged_in_line(&[]), 103);
    assert_eq!(charged_in_line(&[(LEFT, 1)]), 109);
    assert_eq!(charged_in_line(&[(RIGHT, 1)]), 97);
    assert_eq!(charged_in_line(&[(RIGHT, 2)]), 91);
    // 790,196 ohms: 15,045 cycles. 27,450 ohms: 522 cycles.
    assert_eq!(charged_in_line(&[(LEFT, 40)]), 198);
    assert_eq!(charged_in_line(&[(RIGHT, 40)]), 7);
    // One step back from the limit: 767,196 ohms, 14,607 cycles.
    assert_eq!(charged_in_line(&[(LEFT, 40), (RIGHT, 1)]), 193);
    assert_eq!(charged_in_line(&[(UP, 3), (DOWN, 5)]), 103);
}

#[test]
fn swapped_paddles_put_player_a_on_the_second_pin() {
    const INPT1: u8 = 0x09;
    // Three steps of pong's paddle to the left: 477,823 ohms, 9,097 cycles.
    for (id, line) in [("pong", 120), ("breakout", 103)] {
        let mut ale = start(id, paddle_meter(INPT1), 0.0, 0);
        (0..3).for_each(|_| _ = ale.act(action(LEFT), 1.0));
        assert_eq!(ale.ram()[0], line, "{id}");
    }
}

/// The frame counters show the selection: a press of SELECT counts one frame, and so does an act.
#[test]
fn every_reset_selects_the_mode() {
    for (id, frames) in [("human_cannonball", 16), ("name_this_game", 134), ("berzerk", 20)] {
        let Some(rom) = roms::for_tests(id) else { continue };
        let mut ale = start(id, rom.to_vec(), 0.0, 0);
        assert_eq!(ale.frame_number(), frames, "{id}");
        ale.reset_game();
        assert_eq!((ale.frame_number(), ale.episode_frame_number()), (2 * frames, frames), "{id}");
    }
}
