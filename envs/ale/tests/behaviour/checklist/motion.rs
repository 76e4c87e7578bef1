//! HMOVE: distances, the comb, displaced strobes, the stars of Cosmic Ark.

use vcs::registers::{
    COLUBK, COLUP0, COLUP1, COLUPF, ENABL, ENAM0, ENAM1, GRP0, HMM0, HMOVE, HMP0, RESBL, RESM0, RESM1, RESP0,
};
use vcs::{ConsoleOptions, TvFormat};

use super::program::{Event, Program, pixels, runs, strobe, write};

const SKY: u8 = 0x10;
const OBJECT: u8 = 0x20;

/// Returns the distance by which HMOVE at `cycle` moves player 0 with `nibble` in HMP0. Right is positive.
fn distance(name: &str, cycle: u32, nibble: u8) -> i32 {
    // RESP0 at cycle 35, colour clock 105 of the line, puts the player at 105 - 68 + 5 = 42.
    let program = Program::new(&[(COLUBK, SKY), (COLUP0, OBJECT), (GRP0, 0x80), (HMP0, nibble << 4)])
        .frame(262, &[strobe(5, 35, RESP0), strobe(20, cycle, HMOVE)]);
    let ale = program.play(&format!("{name}_{cycle}_{nibble}"), 1);
    let pixels = pixels(ale.screen(), 50, OBJECT);
    assert_eq!(pixels.len(), 1);
    pixels[0] as i32 - 42
}

#[test]
fn hmove_early_in_a_line_moves_at_least_as_far_as_its_cycle_dictates() {
    for (cycle, nibble, expected) in [
        (3, 7, -7),
        (3, 8, 8),
        (3, 1, -1),
        (3, 0, 0),
        (4, 7, -6),
        (7, 7, -4),
        (7, 8, 8),
        (10, 7, -2),
        (10, 1, -1),
        (10, 0, 0),
        (12, 7, 0),
        (14, 7, 1),
        (14, 0, 1),
        (14, 15, 1),
        (14, 8, 8),
        (20, 0, 6),
        (20, 9, 7),
        (20, 8, 8),
    ] {
        assert_eq!(distance("hmove_early", cycle, nibble), expected, "cycle {cycle}, motion {nibble}");
    }
}

#[test]
fn hmove_in_the_middle_of_a_line_moves_nothing() {
    for cycle in [21, 22, 40, 54] {
        for nibble in [0, 7, 8] {
            assert_eq!(distance("hmove_middle", cycle, nibble), 0, "cycle {cycle}, motion {nibble}");
        }
    }
}

#[test]
fn hmove_late_in_a_line_moves_only_left() {
    for (cycle, nibble, expected) in [
        (55, 8, 0),
        (55, 7, -1),
        (55, 1, 0),
        (62, 7, -6),
        (62, 2, -1),
        (62, 0, 0),
        (63, 1, -1),
        (70, 0, -5),
        (70, 8, 0),
        (70, 7, -12),
        (74, 0, -8),
        (74, 7, -15),
        (74, 8, 0),
    ] {
        assert_eq!(distance("hmove_late", cycle, nibble), expected, "cycle {cycle}, motion {nibble}");
    }
}

#[test]
fn hmove_in_the_last_cycle_of_a_line_moves_the_full_distance() {
    for (nibble, expected) in [(0, 0), (7, -7), (8, 8), (15, 1)] {
        assert_eq!(distance("hmove_last", 75, nibble), expected, "motion {nibble}");
    }
}

/// Returns a program with HMOVE in line 20, which is not displayed, and in line 50.
fn combed() -> Program {
    Program::new(&[(COLUBK, SKY)]).frame(262, &[strobe(20, 3, HMOVE), strobe(50, 3, HMOVE)])
}

#[test]
fn the_comb_of_an_undisplayed_line_carries_into_the_first_displayed_line() {
    let ale = combed().play("comb", 1);
    for (line, expected) in
        [(34, vec![(8, 0), (160, SKY)]), (35, vec![(160, SKY)]), (50, vec![(8, 0), (160, SKY)])]
    {
        assert_eq!(runs(ale.screen(), line), expected, "line {line}");
    }
    let late = Program::new(&[(COLUBK, SKY)]).frame(262, &[strobe(50, 21, HMOVE), strobe(60, 75, HMOVE)]);
    let ale = late.play("comb_late", 1);
    for (line, expected) in [(50, vec![(160, SKY)]), (51, vec![(160, SKY)]), (61, vec![(8, 0), (160, SKY)])] {
        assert_eq!(runs(ale.screen(), line), expected, "line {line}");
    }
}

/// Four games disable it: `ms_pacman`, asteroids, `battle_zone`, darkchambers.
#[test]
fn a_game_property_disables_the_comb() {
    let options =
        ConsoleOptions { hmove_blanks: false, tv: Some(TvFormat::Ntsc), ..ConsoleOptions::default() };
    let mut console = combed().console(&options);
    console.run_frame();
    assert!(console.screen().iter().all(|&pixel| pixel == SKY));
}

/// Strobes the position of a missile or the ball, after HMOVE in the same line if `hmove` is its cycle. Returns the
/// pixels of the object.
fn strobed(name: &str, hmove: Option<u32>, register: u16, cycle: u32) -> Vec<usize> {
    let setup = [(COLUBK, SKY), (COLUP0, OBJECT), (COLUP1, OBJECT), (COLUPF, OBJECT)];
    let enable = match register {
        RESM0 => ENAM0,
        RESM1 => ENAM1,
        _ => ENABL,
    };
    let hmove = hmove.map(|cycle| strobe(20, cycle, HMOVE));
    let events: Vec<Event<'_>> =
        [write(5, 5, enable, 2)].into_iter().chain(hmove).chain([strobe(20, cycle, register)]).collect();
    let ale = Program::new(&setup).frame(262, &events).play(&format!("{name}_{register}_{cycle}"), 1);
    pixels(ale.screen(), 50, OBJECT)
}

#[test]
fn hmove_displaces_missile_and_ball_strobes_that_follow_it() {
    // Without HMOVE at cycle 3 a strobe at colour clock h > 68 lands at h - 64, an earlier one at 2.
    for (register, hmove, cycle, disturbed, normal) in [
        (RESM0, 3, 23, 8, 5),
        (RESM1, 3, 6, 3, 2),
        (RESBL, 5, 23, 10, 5),
        (RESBL, 3, 6, 3, 2),
        (RESBL, 3, 10, 6, 2),
        (RESBL, 3, 9, 5, 2),
    ] {
        assert_eq!(strobed("strobe_after_hmove", Some(hmove), register, cycle), [disturbed]);
        assert_eq!(strobed("strobe_alone", None, register, cycle), [normal]);
    }
    // The same cycles after HMOVE have no effect on the other missile.
    assert_eq!(strobed("strobe_after_hmove_other", Some(3), RESM1, 23), [5]);
    assert_eq!(strobed("strobe_after_hmove_other", Some(3), RESM0, 6), [2]);
}

/// Returns a program that changes the motion of a missile at a cycle of the line with HMOVE.
fn interrupted_motion(cycle: u32) -> Program {
    Program::new(&[(COLUBK, SKY), (COLUP0, OBJECT), (ENAM0, 2)]).frame(
        262,
        &[
            write(20, 8, HMM0, 0x70),
            strobe(21, 3, HMOVE),
            write(21, cycle, HMM0, 0x60),
            // Colour clock 180: 180 - 64 = 116.
            strobe(22, 60, RESM0),
        ],
    )
}

/// `journey_escape` moves its stars this way.
#[test]
fn a_motion_interrupted_21_cycles_after_hmove_makes_the_missile_drift() {
    let ale = interrupted_motion(24).play("cosmic_ark", 1);
    // Moves by 33, 0, 17 and 18 pixels to the left from line to line; two pixels wide after 33, invisible after 0.
    let stars: [&[usize]; 10] =
        [&[116], &[83, 84], &[], &[66], &[48], &[15, 16], &[], &[158], &[140], &[107, 108]];
    for (line, star) in (34..).zip(stars) {
        assert_eq!(pixels(ale.screen(), line, OBJECT), star, "line {line}");
    }
    let ale = interrupted_motion(25).play("cosmic_ark_missed", 1);
    for line in 34..44 {
        assert_eq!(pixels(ale.screen(), line, OBJECT), [116], "line {line}");
    }
}
