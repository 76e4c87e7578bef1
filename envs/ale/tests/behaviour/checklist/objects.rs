//! Writes to the registers of players, missiles and playfield in the middle of a visible line.

use vcs::registers::{
    COLUBK, COLUP0, COLUP1, COLUPF, CTRLPF, ENAM0, GRP0, GRP1, NUSIZ0, PF0, PF1, PF2, RESM0, RESMP0, RESP0,
    RESP1, VBLANK,
};

use super::program::{Program, pixels, runs, strobe, write};

const SKY: u8 = 0x10;
const FIRST: u8 = 0x20;
const SECOND: u8 = 0x30;
const FIELD: u8 = 0x40;

/// Returns a program that sets a colour for each object, then does some more writes before its first frame.
fn coloured(setup: &[(u16, u8)]) -> Program {
    let colours = [(COLUBK, SKY), (COLUP0, FIRST), (COLUP1, SECOND), (COLUPF, FIELD)];
    Program::new(&[&colours, setup].concat())
}

/// Moves player 0 from the position of a strobe at cycle `old` of line 5 to pixel 42, by a strobe at cycle 35. Returns
/// its pixels on the line of this strobe, 50, and on the next one.
fn repositioned(name: &str, old: u32, copies: u8) -> [Vec<usize>; 2] {
    let program = coloured(&[(GRP0, 0xFF), (NUSIZ0, copies)])
        .frame(262, &[strobe(5, old, RESP0), strobe(50, 35, RESP0)]);
    let ale = program.play(name, 1);
    [50, 51].map(|line| pixels(ale.screen(), line, FIRST))
}

fn eight_from(first: usize) -> Vec<usize> {
    (first..first + 8).collect()
}

#[test]
fn a_player_strobed_just_before_it_is_due_shows_its_first_copy_in_the_same_line() {
    // The old position is 3 * 34 - 63 = 39, 3 pixels before the new one.
    assert_eq!(repositioned("resp_delay", 34, 0), [eight_from(42), eight_from(42)]);
}

#[test]
fn a_player_strobed_while_displayed_continues_for_up_to_eleven_clocks_without_a_new_first_copy() {
    // The old position is 36, 6 pixels before the new one; the beam is at pixel 37.
    assert_eq!(repositioned("resp_display", 33, 0), [eight_from(36), eight_from(42)]);
}

#[test]
fn a_player_strobed_elsewhere_shows_no_first_copy_until_the_next_line() {
    assert_eq!(repositioned("resp_neither", 61, 0), [vec![], eight_from(42)]);
    // The other copies appear at the new position in the same line.
    let both = [eight_from(42), eight_from(58)].concat();
    assert_eq!(repositioned("resp_neither_copies", 61, 1), [eight_from(58), both]);
}

/// Requests a second copy of a player at a cycle of line 50. Returns the player's pixels on lines 50 and 51.
fn with_second_copy(cycle: u32) -> [Vec<usize>; 2] {
    let program = coloured(&[(GRP0, 0x80)]).frame(
        262,
        &[write(5, 5, NUSIZ0, 0), strobe(5, 35, RESP0), write(50, cycle, NUSIZ0, 1), write(60, 5, NUSIZ0, 0)],
    );
    let ale = program.play(&format!("nusiz_{cycle}"), 1);
    [50, 51].map(|line| pixels(ale.screen(), line, FIRST))
}

#[test]
fn a_players_copies_change_within_a_line_eight_clocks_after_the_write() {
    // Colour clocks 117 + 8 - 68 = 57 and 120 + 8 - 68 = 60, before and after the second copy at 58.
    assert_eq!(with_second_copy(39), [vec![42, 58], vec![42, 58]]);
    assert_eq!(with_second_copy(40), [vec![42], vec![42, 58]]);
}

/// Sets the leftmost cell of the playfield and writes the reflection bit of CTRLPF at a cycle of line 50. Returns the
/// pixels of the playfield on lines 50 and 51.
fn reflected(cycle: u32) -> [Vec<usize>; 2] {
    let program = coloured(&[(PF0, 0x10)])
        .frame(262, &[write(20, 5, CTRLPF, 0), write(50, cycle, CTRLPF, 1), write(60, 5, CTRLPF, 0)]);
    let ale = program.play(&format!("reflection_{cycle}"), 1);
    [50, 51].map(|line| pixels(ale.screen(), line, FIELD))
}

const REPEATED: [usize; 8] = [0, 1, 2, 3, 80, 81, 82, 83];
const MIRRORED: [usize; 8] = [0, 1, 2, 3, 156, 157, 158, 159];

#[test]
fn a_reflection_written_in_the_left_half_takes_effect_at_once() {
    assert_eq!(reflected(48), [MIRRORED, MIRRORED]);
}

#[test]
fn a_reflection_written_in_the_right_half_takes_effect_on_the_next_line() {
    // Cycle 49 is colour clock 147, one pixel before the middle.
    assert_eq!(reflected(49), [REPEATED, MIRRORED]);
}

#[test]
fn vblank_blanks_and_unblanks_within_a_line() {
    let program = coloured(&[]).frame(262, &[write(50, 40, VBLANK, 2), write(51, 30, VBLANK, 0)]);
    let ale = program.play("vblank", 1);
    // One clock after the write: 120 + 1 - 68 = 53 and 90 + 1 - 68 = 23.
    assert_eq!(runs(ale.screen(), 50), [(53, SKY), (160, 0)]);
    assert_eq!(runs(ale.screen(), 51), [(23, 0), (160, SKY)]);
}

/// Draws a full playfield, player 0 at 42 and player 1 at 102, with a value of CTRLPF. Returns the runs of a line.
fn layered(name: &str, ctrlpf: u8, players: u8) -> Vec<(usize, u8)> {
    let field = [(CTRLPF, ctrlpf), (PF0, 0xFF), (PF1, 0xFF), (PF2, 0xFF), (GRP0, players), (GRP1, players)];
    let program = coloured(&field).frame(262, &[strobe(5, 35, RESP0), strobe(5, 55, RESP1)]);
    runs(program.play(name, 1).screen(), 50)
}

#[test]
fn players_cover_the_playfield_unless_it_has_priority() {
    let players_first = [(42, FIELD), (50, FIRST), (102, FIELD), (110, SECOND), (160, FIELD)];
    assert_eq!(layered("priority_players", 0x00, 0xFF), players_first);
    assert_eq!(layered("priority_field", 0x04, 0xFF), [(160, FIELD)]);
}

#[test]
fn score_mode_colours_the_playfield_by_player_above_player_1_and_below_player_0() {
    assert_eq!(layered("score", 0x02, 0x00), [(80, FIRST), (160, SECOND)]);
    // Player 1 has the colour of the right half; in the left half it shows which is in front.
    let program = coloured(&[(CTRLPF, 0x02), (PF1, 0xFF), (GRP1, 0xFF)]).frame(262, &[strobe(5, 35, RESP1)]);
    let ale = program.play("score_left", 1);
    // PF1 covers pixels 16 to 47, the player 42 to 49.
    assert_eq!(
        runs(ale.screen(), 50)[..4],
        [(16, SKY), (48, FIRST), (50, SECOND), (96, SKY)],
        "the playfield hides player 1 from 42 to 47"
    );
}

#[test]
fn priority_disables_score_mode_unless_only_the_playfield_is_on() {
    assert_eq!(layered("score_and_priority", 0x06, 0xFF), [(160, FIELD)]);
    assert_eq!(layered("score_and_priority_alone", 0x06, 0x00), [(80, FIRST), (160, SECOND)]);
}

#[test]
fn a_missile_released_by_resmp_starts_at_the_players_centre() {
    for (copies, middle) in [(0, 4), (5, 8), (7, 16)] {
        let program = coloured(&[(ENAM0, 2), (NUSIZ0, copies)]).frame(
            262,
            &[strobe(5, 35, RESP0), strobe(6, 60, RESM0), write(20, 5, RESMP0, 2), write(50, 5, RESMP0, 0)],
        );
        let ale = program.play(&format!("resmp_{copies}"), 1);
        assert_eq!(pixels(ale.screen(), 49, FIRST), [0; 0], "held");
        assert_eq!(pixels(ale.screen(), 50, FIRST), [42 + middle], "size {copies}");
    }
}

/// Strobes the position of a player for the second time. Returns the player's pixels on lines 50 and 51.
fn strobed_again(name: &str, line: u32, cycle: u32) -> [Vec<usize>; 2] {
    let program = coloured(&[(GRP0, 0x80)]).frame(262, &[strobe(5, 61, RESP0), strobe(line, cycle, RESP0)]);
    let ale = program.play(name, 1);
    [50, 51].map(|line| pixels(ale.screen(), line, FIRST))
}

#[test]
fn a_strobe_exactly_between_two_lines_precedes_the_end_of_the_first() {
    // Cycle 76 of line 49 is cycle 0 of line 50. The suppression of the first copy ends with line 49, after the strobe.
    assert_eq!(strobed_again("strobe_at_the_boundary", 49, 76), [[3], [3]]);
    assert_eq!(strobed_again("strobe_behind_the_boundary", 50, 3), [vec![], vec![3]]);
}

/// The background of the frames before one that is cut off.
const OLD: u8 = 0x60;

/// Plays a program whose third frame ends within line 100. Returns the colours of this line.
fn cut_off(name: &str, field: u8) -> Vec<(usize, u8)> {
    let whole = [write(10, 5, COLUBK, OLD)];
    // Colour clock 105: pixel 37.
    let program = coloured(&[(PF0, field)]).frame(262, &whole).frame(262, &whole).cut_frame(
        100,
        35,
        &[write(10, 5, COLUBK, SKY)],
    );
    // The act after the reset, which takes 68 frames, emulates the third.
    runs(program.play(name, 1).screen(), 100)
}

#[test]
fn a_frame_cut_off_in_a_line_shows_up_to_three_pixels_too_many() {
    // The reference draws a playfield without other objects in units of four pixels.
    assert_eq!(cut_off("cut_off_field", 0x10), [(4, FIELD), (40, SKY), (80, OLD), (84, FIELD), (160, OLD)]);
    assert_eq!(cut_off("cut_off", 0x00), [(37, SKY), (160, OLD)]);
}
