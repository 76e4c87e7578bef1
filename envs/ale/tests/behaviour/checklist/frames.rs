//! The beginning and end of frames, and the screen after frames that do not end.

use ale::{Action, Ale, Palette};
use vcs::registers::{COLUBK, VSYNC};
use vcs::{ConsoleOptions, TvFormat};

use super::program::{Program, code, image, play, row, runs, write};

const RAM_0: u8 = 0x80;
const INC_RAM_0: [u8; 2] = [0xE6, RAM_0];

fn ntsc() -> ConsoleOptions {
    ConsoleOptions { tv: Some(TvFormat::Ntsc), ..ConsoleOptions::default() }
}

#[test]
fn thirty_long_frames_are_detected_as_pal_with_250_rows() {
    for (lines, tv, height) in
        [(285, TvFormat::Ntsc, 210), (286, TvFormat::Pal, 250), (312, TvFormat::Pal, 250)]
    {
        let ale = Program::new(&[(COLUBK, 0x40)]).frame(lines, &[]).play(&format!("lines_{lines}"), 1);
        assert_eq!((ale.tv(), ale.height()), (tv, height), "{lines} lines");
    }
}

/// The program counts scanlines and never touches VSYNC.
#[test]
fn a_frame_without_vsync_ends_at_the_last_line_of_the_television_system() {
    #[rustfmt::skip]
    let counter = image(&[
        0xE6, 0x80,       // loop: INC $80
        0xD0, 0x02,       //       BNE wait
        0xE6, 0x81,       //       INC $81
        0x85, 0x02,       // wait: STA WSYNC
        0x4C, 0x00, 0xF0, //       JMP loop
    ]);
    // Lines 0 to 290, and the first write of line 291. Under PAL the limit is 342.
    assert_eq!(counted_lines(&counter, &ntsc()), 292);
    assert_eq!(counted_lines(&counter, &ConsoleOptions { tv: Some(TvFormat::Pal), ..ntsc() }), 344);
    // Frames of 291 lines are long enough for PAL to be detected.
    assert_eq!(counted_lines(&counter, &ConsoleOptions { tv: None, ..ntsc() }), 344);
    play("no_vsync", counter, 3);
}

/// Returns the number of lines that a program counts in $80 and $81 during a frame.
fn counted_lines(program: &[u8], options: &ConsoleOptions) -> u16 {
    let cartridge = vcs::Cartridge::detect(program.into()).expect("a cartridge");
    let mut console = vcs::Console::new(cartridge, options);
    console.run_frame();
    let before = line_count(console.ram());
    console.run_frame();
    line_count(console.ram()).wrapping_sub(before)
}

fn line_count(ram: &[u8; 128]) -> u16 {
    u16::from_le_bytes([ram[0], ram[1]])
}

#[test]
fn a_vsync_that_is_cleared_within_a_line_does_not_end_the_frame() {
    let program = Program::new(&[])
        .frame(262, &[write(20, 5, VSYNC, 2), write(20, 50, VSYNC, 0), code(21, &INC_RAM_0, 5)]);
    let mut console = program.console(&ntsc());
    let before = console.ram()[0];
    (0..3).for_each(|_| console.run_frame());
    assert_eq!(console.ram()[0].wrapping_sub(before), 3);
    program.play("vsync_cleared_early", 2);
}

/// The program never ends a frame, so the reset happens within one. Both players have the same position, which no read
/// shows before the visible lines begin: at scanline 34, counted from the reset.
#[test]
fn an_unfinished_frame_shows_the_same_lines_after_a_reset() {
    #[rustfmt::skip]
    let program = image(&[
        0xA9, 0xFF, 0x85, 0x1B, 0x85, 0x1C, // GRP0, GRP1 = $FF
        0x85, 0x10, 0x85, 0x11,             // RESP0, RESP1
        0xA2, 0x00,                         // LDX #0
        0x85, 0x02, 0xE8,                   // line: STA WSYNC, INX
        0x24, 0x07, 0x10, 0xF9,             // BIT CXPPMM, BPL line
        0x86, 0x80,                         // STX $80
        0x4C, 0x15, 0xF0,                   // wait: JMP wait
    ]);
    let ale = play("reset_within_a_frame", program, 1);
    assert_eq!(ale.ram()[0], 34);
}

/// Only the first frame after a reset draws row 10 of its screen. The frame before the reset, the last one of the
/// detection of PAL, has 287 lines. Within a game, colours would be odd after such a frame.
#[test]
fn a_reset_forgets_that_the_last_frame_had_an_odd_number_of_lines() {
    let lines = |count: u8| [0xA2, count, 0x85, 0x02, 0xCA, 0xD0, 0xFB]; // LDX #count, STA WSYNC, DEX, BNE
    // Three lines of VSYNC.
    let vsync = [0xA9, 0x02, 0x85, 0x00, 0x85, 0x02, 0x85, 0x02, 0xA9, 0x00, 0x85, 0x02, 0x85, 0x00];
    let first = [&[0xA9, 0x44, 0x85, 0x09], &lines(74)[..], &vsync].concat(); // LDA #$44, STA COLUBK
    let low = first.len() as u8;
    let long = [&lines(255)[..], &lines(29), &vsync].concat();
    let short = [&lines(17)[..], &vsync].concat();
    let program = [&first[..], &long, &short, &[0x4C, low, 0xF0]].concat(); // JMP long
    let ale = play("odd_frame_before_a_reset", image(&program), 1);
    assert_eq!((ale.tv(), ale.screen()[10 * 160]), (TvFormat::Pal, 0x44));
}

/// The chip draws up to pixel 21 when NUSIZ0 takes effect, in a group of four pixels, and up to pixel 22 when VSYNC
/// ends the frame.
#[test]
fn a_frame_may_end_just_after_a_group_of_four_pixels() {
    #[rustfmt::skip]
    let program = image(&[
        0xA9, 0x80, 0x85, 0x0E,                         // PF1 = $80
        0xE6, 0x90, 0xA5, 0x90, 0x0A, 0x85, 0x09,       // frame: INC $90, COLUBK = 2 * $90
        0xA9, 0x02, 0x85, 0x00,                         // VSYNC = 2
        0xA2, 0x64, 0x85, 0x02, 0xCA, 0xD0, 0xFB,       // 100 lines
        0xA9, 0x00, 0xEA, 0xEA, 0xEA, 0xEA, 0xEA, 0xEA, 0xEA, 0xEA, 0xEA,
        0x85, 0x04, 0x85, 0x00,                         // NUSIZ0 = 0, VSYNC = 0
        0x4C, 0x04, 0xF0,                               // JMP frame
    ]);
    let ale = play("span_before_the_end", program, 3);
    let colour = row(ale.screen(), 100)[0];
    assert!(colour > 0);
    assert_eq!(runs(ale.screen(), 100), [(16, colour), (20, 0), (24, colour), (160, 0)]);
}

#[test]
fn a_short_frame_leaves_the_frame_before_last_below_it() {
    let filled = |colour| [write(10, 5, COLUBK, colour)];
    let program = Program::new(&[])
        .frame(262, &filled(0x20))
        .frame(262, &filled(0x40))
        .frame(100, &filled(0x60))
        .frame(262, &filled(0x80));
    // The first act after the reset, which takes 68 frames, emulates the first frame; the third one the short frame.
    let ale = program.play("short_frame", 3);
    assert_eq!(runs(ale.screen(), 99), [(160, 0x60)]);
    for line in [101, 150, 243] {
        assert_eq!(runs(ale.screen(), line), [(160, 0x20)], "line {line}");
    }
}

fn screen_after_noop(ale: &mut Ale) -> Vec<u8> {
    ale.act(Action::NOOP, 1.0);
    ale.screen().to_vec()
}

/// Every third frame is short. As in ale-py 0.12.1, the first frame after a restore is drawn over the screen from
/// before. From the second one on, the rows below a short frame are again those of the saved game.
#[test]
fn a_short_frame_shows_the_screen_from_before_a_restore_only_if_it_is_the_first() {
    const LINE: usize = 150;
    let count = code(8, &INC_RAM_0, 5);
    let colour = code(10, &[0xA5, RAM_0, 0x0A, 0x85, COLUBK as u8], 8); // LDA $80, ASL, STA COLUBK
    let frame = [count, colour];
    let program = Program::new(&[]).frame(262, &frame).frame(262, &frame).frame(100, &frame);
    for played in 0..6 {
        let mut ale = program.play(&format!("short_frames_{played}"), played);
        let saved = ale.save_state(false);
        let expected: Vec<_> = (0..7).map(|_| screen_after_noop(&mut ale)).collect();
        // Every frame has a colour that no frame before had, so each screen differs from all others.
        (0..5).for_each(|_| _ = screen_after_noop(&mut ale));
        let before = screen_after_noop(&mut ale);
        ale.restore_state(&saved).expect("a state of the game");
        assert_eq!(ale.screen(), before, "the screen before the first frame");
        let mut snapshot = ale.clone();
        snapshot.reset_game();
        snapshot.restore(&ale.snapshot()).expect("a snapshot of the game");
        for ale in [&mut ale, &mut snapshot] {
            let first = screen_after_noop(ale);
            assert_eq!(row(&first, 60), row(&expected[0], 60));
            let is_short = row(&expected[0], 60) != row(&expected[0], LINE);
            assert_eq!(row(&first, LINE) != row(&expected[0], LINE), is_short, "after {played} acts");
            for expected in &expected[1..] {
                assert_eq!(&screen_after_noop(ale), expected, "after {played} acts");
            }
        }
    }
}

#[test]
fn a_frame_is_cut_off_after_25000_instructions_and_continues_on_the_next_call() {
    #[rustfmt::skip]
    let counter = image(&[
        0xA9, 0x00, 0x85, 0x80, 0x85, 0x81, // LDA #0, STA $80, STA $81
        0xE6, 0x80,                         // loop: INC $80
        0xD0, 0xFC,                         //       BNE loop
        0xE6, 0x81,                         //       INC $81
        0x4C, 0x06, 0xF0,                   //       JMP loop
    ]);
    let cartridge = vcs::Cartridge::detect(counter.clone().into()).expect("a cartridge");
    let mut console = vcs::Console::new(cartridge, &ntsc());
    // A count to 256 takes 514 instructions. The first call has 24,997 left: 48 of these, 162 pairs, and one INC.
    // The second one ends after a total of 49,997: 97 of these, 69 pairs, and one INC.
    for expected in [48 * 256 + 163, 97 * 256 + 70] {
        console.run_frame();
        assert_eq!(u16::from_le_bytes([console.ram()[0], console.ram()[1]]), expected);
    }
    play("instructions", counter, 2);
}

#[test]
fn an_unfinished_frame_fades_to_grey_once() {
    const JAM: [u8; 1] = [0x02];
    let filled = |colour| [write(10, 5, COLUBK, colour)];
    let jams = [write(10, 5, COLUBK, 0x60), write(100, 5, COLUBK, 0x60), code(100, &JAM, 0)];
    let program = Program::new(&[])
        .frame(262, &filled(0x8C))
        .frame(262, &filled(0xAC))
        .frame(262, &filled(0x2C))
        .frame(262, &filled(0x4C))
        .frame(262, &jams);
    // The reset makes 68 calls, 64 of which are for the fifth frame.
    let ale = program.play("grey_out", 2);
    assert_eq!(runs(ale.screen(), 99), [(160, 0x60)]);
    // Of the frame before last, grey 6 remains, half of 0xC. Fading twice would give 3.
    for line in [101, 243] {
        assert_eq!(runs(ale.screen(), line), [(160, 0x06)], "line {line}");
    }
}

#[test]
fn pal_loses_colour_after_a_frame_with_an_odd_number_of_lines() {
    let ale = |lines| Program::new(&[(COLUBK, 0x42)]).frame(lines, &[]).play(&format!("pal_{lines}"), 2);
    assert_eq!(row(ale(312).screen(), 50), [0x42; 160]);
    assert_eq!(row(ale(313).screen(), 50), [0x43; 160]);
    // NTSC keeps its colour.
    let ntsc = Program::new(&[(COLUBK, 0x42)]).frame(263, &[]).play("ntsc_263", 2);
    assert_eq!(row(ntsc.screen(), 50), [0x42; 160]);
    // In RGB it is the grey of the same brightness; in greyscale the blue of the next colour.
    let palette = Palette::of(TvFormat::Pal);
    let [red, green, blue] = palette.rgb[0x43];
    assert_eq!((red, green), (green, blue));
    assert_eq!(palette.grey[0x43], palette.rgb[0x44][2]);
}
