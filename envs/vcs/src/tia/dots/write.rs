//! Writes of registers and their effects.

use super::super::WIDTH;
use super::super::registers::{
    CTRLPF, CXCLR, ENABL, GRP0, GRP1, HMBL, HMCLR, HMM0, HMM1, HMOVE, HMP0, HMP1, NUSIZ0, NUSIZ1, PF0, PF1,
    PF2, REFP0, REFP1, RESBL, RESM0, RESM1, RESMP0, RESMP1, RESP0, RESP1, VBLANK, VSYNC,
};
use super::objects::{copies, player_width};
use super::{BL, CTRLPF_REF, CYCLE, D1, Dots, HBLANK, LINE, M0, StarWidth};

/// CTRLPF's reflection bit takes effect immediately only before this position of a scanline.
const REFLECTION_END: i32 = 147;

/// HMOVE blanks the start of a line if it is written in CPU cycles 0 to 20 of the line, or in the last one before it.
const LAST_COMB_CYCLE: i32 = 20;
const CYCLE_BEFORE_LINE: i32 = 75;

/// A strobe of RESMx or RESBL while HMOVE moves the object, and the position that results.
struct StrobeInMotion {
    /// Colour clocks from HMOVE to the strobe.
    since_hmove: i32,
    /// The position of the strobe in its scanline.
    hpos: i32,
    position: i32,
}

const fn strobe(since_hmove: i32, hpos: i32, position: i32) -> StrobeInMotion {
    StrobeInMotion { since_hmove, hpos, position }
}

/// Games that need these: `battle_zone` and `pitfall2` for missile 0, robotank for missile 1.
const MISSILE_STROBES: [&[StrobeInMotion]; 2] = [&[strobe(60, 69, 8)], &[strobe(9, 18, 3)]];
const BALL_STROBES: &[StrobeInMotion] =
    &[strobe(54, 60, 10), strobe(54, 69, 10), strobe(9, 18, 3), strobe(21, 30, 6), strobe(18, 27, 5)];

/// A write of HMM0 starts the stars of Cosmic Ark at this number of colour clocks after HMOVE, if it changes the motion
/// from the first value to the second.
const STARS_SINCE_HMOVE: i32 = 63;
const STARS_MOTIONS: (u8, u8) = (7, 6);

impl Dots {
    /// Writes a register at CPU cycle `now`.
    pub(in super::super) fn write(&mut self, register: u16, value: u8, now: u32) {
        let clock = (now as i32).wrapping_mul(CYCLE);
        let hpos = (clock - self.frame_start) % LINE;
        self.draw(clock + delay(register, hpos));
        if (clock - self.frame_start) / LINE > self.geometry.last_line {
            self.unfinished = false;
        }
        let before = std::mem::replace(&mut self.registers[usize::from(register)], value);
        match register {
            VSYNC => self.write_vsync(value, clock),
            NUSIZ0 | NUSIZ1 => self.write_nusiz(usize::from(register - NUSIZ0)),
            CTRLPF if hpos < REFLECTION_END => self.mirrored = value & CTRLPF_REF != 0,
            RESP0 | RESP1 => self.strobe_player(usize::from(register - RESP0), clock, hpos),
            RESM0 | RESM1 => self.strobe_missile(usize::from(register - RESM0), clock, hpos),
            RESBL => self.positions[BL] = self.strobed(BALL_STROBES, clock, hpos),
            GRP0 => self.old_graphics[1] = self.byte(GRP1),
            GRP1 => {
                self.old_graphics[0] = self.byte(GRP0);
                self.old_enabl = self.byte(ENABL);
            }
            RESMP0 | RESMP1 => {
                let is_released = before & D1 != 0 && value & D1 == 0;
                if is_released {
                    self.release_missile(usize::from(register - RESMP0));
                }
            }
            HMM0 => {
                let motions = (before >> 4, value >> 4);
                if clock - self.last_hmove == STARS_SINCE_HMOVE && motions == STARS_MOTIONS {
                    self.stars = true;
                    self.star_line = 0;
                }
            }
            HMOVE => self.hmove(clock, hpos / CYCLE),
            HMCLR => {
                for register in [HMP0, HMP1, HMM0, HMM1, HMBL] {
                    self.registers[usize::from(register)] = 0;
                }
            }
            CXCLR => self.collisions = [0; 8],
            _ => {}
        }
    }

    /// Ends the frame if VSYNC is cleared at least a line after it was set.
    fn write_vsync(&mut self, value: u8, clock: i32) {
        if value & D1 != 0 {
            self.vsync_finish = Some(clock + LINE);
        } else if self.vsync_finish.is_some_and(|finish| clock >= finish) {
            self.vsync_finish = None;
            self.unfinished = false;
        }
    }

    fn write_nusiz(&mut self, player: usize) {
        self.first_copy_suppressed[player] = false;
        if player == 0 {
            self.star_width = StarWidth::Normal;
        }
    }

    fn hmove(&mut self, clock: i32, cycle: i32) {
        if self.geometry.hmove_blanks && (cycle <= LAST_COMB_CYCLE || cycle == CYCLE_BEFORE_LINE) {
            self.comb = true;
        }
        for (object, register) in [HMP0, HMP1, HMM0, HMM1, HMBL].into_iter().enumerate() {
            // A two's complement number of four bits. Positive values move to the left.
            let motion = i32::from(self.byte(register) >> 4);
            let right = if motion < 8 { -motion } else { 16 - motion };
            let position = self.positions[object] + hmove_distance(cycle, right);
            self.positions[object] = position.rem_euclid(WIDTH as i32);
        }
        self.first_copy_suppressed = [false; 2];
        self.star_width = StarWidth::Normal;
        self.stars = false;
        self.last_hmove = clock;
    }

    /// Writes RESP0 or RESP1. A copy that is being shown is completed first. The first copy is hidden until the end of
    /// the line, unless a copy is about to begin.
    fn strobe_player(&mut self, player: usize, clock: i32, hpos: i32) {
        /// A copy that begins this number of pixels or less before the new position is not shown yet.
        const ABOUT_TO_BEGIN: i32 = 4;
        /// Colour clocks for which a copy that is being shown continues.
        const COMPLETION: i32 = 11;
        let position = strobed_position(hpos, 3, 5);
        let width = player_width(self.nusiz(player));
        let mut about_to_begin = false;
        let mut shown = false;
        for &offset in copies(self.nusiz(player)) {
            let since_copy = (position - self.positions[player] - offset).rem_euclid(WIDTH as i32);
            about_to_begin |= since_copy < ABOUT_TO_BEGIN;
            shown |= (ABOUT_TO_BEGIN..ABOUT_TO_BEGIN + width).contains(&since_copy);
        }
        if shown {
            self.draw(clock + COMPLETION);
        }
        self.positions[player] = position;
        self.first_copy_suppressed[player] = !about_to_begin;
    }

    fn strobe_missile(&mut self, missile: usize, clock: i32, hpos: i32) {
        self.positions[M0 + missile] = self.strobed(MISSILE_STROBES[missile], clock, hpos);
        if missile == 0 {
            self.star_width = StarWidth::Normal;
        }
    }

    /// Returns the position at which RESMx or RESBL places its object.
    fn strobed(&self, in_motion: &[StrobeInMotion], clock: i32, hpos: i32) -> i32 {
        let since_hmove = clock - self.last_hmove;
        let strobe = in_motion.iter().find(|strobe| (strobe.since_hmove, strobe.hpos) == (since_hmove, hpos));
        strobe.map_or_else(|| strobed_position(hpos, 2, 4), |strobe| strobe.position)
    }

    /// Releases a missile that RESMPx had locked to its player: it is in the player's middle.
    fn release_missile(&mut self, player: usize) {
        let middle = player_width(self.nusiz(player)) / 2;
        self.positions[M0 + player] = (self.positions[player] + middle) % WIDTH as i32;
        if player == 0 {
            self.star_width = StarWidth::Normal;
        }
    }
}

/// Returns the colour clocks until a write takes effect on the screen.
fn delay(register: u16, hpos: i32) -> i32 {
    /// The delays of the playfield by the CPU cycle of the line modulo 4.
    const PLAYFIELD_DELAYS: [i32; 4] = [4, 5, 2, 3];
    match register {
        VBLANK | REFP0 | REFP1 | GRP0 | GRP1 => 1,
        NUSIZ0 | NUSIZ1 | RESM0 | RESM1 => 8,
        PF0 | PF1 | PF2 => PLAYFIELD_DELAYS[(hpos / CYCLE % 4) as usize],
        _ => 0,
    }
}

/// Returns the position of an object that is strobed at `hpos`: `in_blank` before the first pixel of a line, and `late`
/// pixels after the strobe elsewhere.
fn strobed_position(hpos: i32, in_blank: i32, late: i32) -> i32 {
    if hpos < HBLANK { in_blank } else { (hpos - HBLANK + late) % WIDTH as i32 }
}

/// Returns the pixels to the right by which HMOVE in this CPU cycle of a line moves an object that HMOVE just after
/// WSYNC (cycle 3) moves by `right`.
///
/// At cycles 4 to 20 some of the motion to the left is lost. At 21 to 54 nothing moves, and at 55 to 74 objects move
/// left only.
fn hmove_distance(cycle: i32, right: i32) -> i32 {
    match cycle {
        0..=3 => right.max(-7),
        4 => right.max(-6),
        5 | 6 => right.max(-5),
        7 => right.max(-4),
        8 => right.max(-3),
        9 | 10 => right.max(-2),
        11 => right.max(-1),
        12 => right.max(0),
        13 | 14 => right.max(1),
        15 => right.max(2),
        16 => right.max(3),
        17 | 18 => right.max(4),
        19 => right.max(5),
        20 => right.max(6),
        21..=54 => 0,
        55 => (right + 6).min(0),
        56 => (right + 5).min(0),
        57 | 58 => (right + 4).min(0),
        59 => (right + 3).min(0),
        60 => (right + 2).min(0),
        61 | 62 => (right + 1).min(0),
        63 => right.min(0),
        64 => (right - 1).min(0),
        65 | 66 => (right - 2).min(0),
        67 => (right - 3).min(0),
        68 => (right - 4).min(0),
        69 | 70 => (right - 5).min(0),
        71 => (right - 6).min(0),
        72 => (right - 7).min(0),
        73 | 74 => (right - 8).min(0),
        _ => right,
    }
}
