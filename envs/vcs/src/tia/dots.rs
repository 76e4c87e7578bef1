//! A second, slow TIA that draws dot by dot. Tests compare the parent module with it.
//!
//! It shares only the names of the registers with the fast TIA. Registers hold the bytes written, and at every colour
//! clock every object is evaluated. Drawing happens at every access, like in the reference; a piece is the part of a
//! line that one access draws.

mod draw;
mod objects;

use super::registers::{
    CTRLPF, CXCLR, ENABL, GRP0, GRP1, HMBL, HMCLR, HMM0, HMM1, HMOVE, HMP0, HMP1, NUSIZ0, NUSIZ1, PF0, PF1,
    PF2, REFP0, REFP1, RESBL, RESM0, RESM1, RESMP0, RESMP1, RESP0, RESP1, VBLANK, VSYNC,
};
use super::{Geometry, WIDTH};

const P0: usize = 0;
const P1: usize = 1;
const M0: usize = 2;
const M1: usize = 3;
const BL: usize = 4;
const PF: usize = 5;

pub(super) struct Dots {
    geometry: Geometry,
    /// The last value written to each register; for the motion registers the value in effect.
    registers: [u8; 64],
    /// Positions of P0, P1, M0, M1 and BL.
    positions: [i32; 5],
    old_graphics: [u8; 2],
    old_enabl: u8,
    first_copy_suppressed: [bool; 2],
    /// True if the right half of the playfield is mirrored.
    mirrored: bool,
    comb: bool,
    /// True if the Cosmic Ark motion is active.
    stars: bool,
    star_line: usize,
    star_width: StarWidth,
    collisions: [u8; 8],
    /// Bit 0 of all colours.
    parity: u8,

    screens: [Vec<u8>; 2],
    current: usize,
    unfinished: bool,
    greyed: bool,
    lines: i32,

    frame_start: i32,
    display_start: i32,
    display_stop: i32,
    /// The colour clock of the first dot of row 0.
    origin: i32,
    drawn_to: i32,
    /// `None` until VSYNC is set.
    vsync_finish: Option<i32>,
    last_hmove: i32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum StarWidth {
    Normal,
    AtLeastTwo,
    Zero,
}

impl Dots {
    pub(super) fn new(geometry: Geometry) -> Self {
        let screen = vec![0; geometry.height as usize * WIDTH];
        Self {
            geometry,
            registers: [0; 64],
            positions: [0; 5],
            old_graphics: [0; 2],
            old_enabl: 0,
            first_copy_suppressed: [false; 2],
            mirrored: false,
            comb: false,
            stars: false,
            star_line: 0,
            star_width: StarWidth::Normal,
            collisions: [0; 8],
            parity: 0,
            screens: [screen.clone(), screen],
            current: 0,
            unfinished: false,
            greyed: false,
            lines: 0,
            frame_start: 0,
            display_start: 0,
            display_stop: 0,
            origin: 0,
            drawn_to: 0,
            vsync_finish: None,
            last_hmove: 0,
        }
    }

    /// Resets the system at the colour clock `now`.
    pub(super) fn reset(&mut self, now: i32) {
        let before = std::mem::replace(self, Self::new(self.geometry));
        self.current = before.current;
        self.unfinished = before.unfinished;
        self.greyed = before.greyed;
        self.display_start = now + 228 * self.geometry.ystart;
        self.display_stop = self.display_start + 228 * self.geometry.height;
        (self.frame_start, self.origin, self.drawn_to) = (now, now, now);
    }

    pub(super) fn rebase(&mut self, cycles: u32) {
        let clocks = 3 * cycles as i32;
        self.frame_start -= clocks;
        self.display_start -= clocks;
        self.display_stop -= clocks;
        self.origin -= clocks;
        self.drawn_to -= clocks;
        self.vsync_finish = self.vsync_finish.map(|finish| finish - clocks);
        self.last_hmove -= clocks;
    }

    pub(super) fn start_frame(&mut self, phase: i32) {
        self.current = 1 - self.current;
        self.frame_start = -phase;
        self.display_start = self.frame_start + 228 * self.geometry.ystart;
        self.display_stop = self.display_start + 228 * self.geometry.height;
        self.origin = self.display_start;
        self.drawn_to = self.display_start;
        if self.geometry.colour_loss {
            self.parity = (self.lines % 2) as u8;
        }
        self.greyed = false;
        self.unfinished = true;
    }

    pub(super) fn end_request(&mut self, now: i32) {
        let line = (now - self.frame_start) / 228;
        if !self.unfinished {
            self.lines = line;
        } else if !self.greyed {
            self.greyed = true;
            let first = line.max(self.geometry.ystart) - self.geometry.ystart;
            for row in first..self.geometry.height {
                for x in 0..WIDTH {
                    let pixel = &mut self.screens[self.current][row as usize * WIDTH + x];
                    *pixel = (*pixel & 15) >> 1;
                }
            }
        }
    }

    pub(super) fn is_unfinished(&self) -> bool {
        self.unfinished
    }

    pub(super) fn screen(&self) -> &[u8] {
        &self.screens[self.current]
    }

    pub(super) fn collisions(&self) -> &[u8; 8] {
        &self.collisions
    }

    /// Reads collision register 0 to 7.
    pub(super) fn read(&mut self, register: u16, now: u32) -> u8 {
        self.draw((now as i32).wrapping_mul(3));
        self.collisions[usize::from(register)]
    }

    pub(super) fn write(&mut self, register: u16, value: u8, now: u32) {
        let clock = (now as i32).wrapping_mul(3);
        let hpos = (clock - self.frame_start) % 228;
        let delay = match register {
            VBLANK | REFP0 | REFP1 | GRP0 | GRP1 => 1,
            NUSIZ0 | NUSIZ1 | RESM0 | RESM1 => 8,
            PF0 | PF1 | PF2 => [4, 5, 2, 3][(hpos / 3 % 4) as usize],
            _ => 0,
        };
        self.draw(clock + delay);
        if (clock - self.frame_start) / 228 > self.geometry.last_line {
            self.unfinished = false;
        }
        let before = self.registers;
        self.registers[usize::from(register)] = value;
        match register {
            VSYNC if value & 2 != 0 => self.vsync_finish = Some(clock + 228),
            VSYNC if self.vsync_finish.is_some_and(|finish| clock >= finish) => {
                self.vsync_finish = None;
                self.unfinished = false;
            }
            NUSIZ0 => {
                self.first_copy_suppressed[0] = false;
                self.star_width = StarWidth::Normal;
            }
            NUSIZ1 => self.first_copy_suppressed[1] = false,
            CTRLPF if hpos < 147 => self.mirrored = value & 1 != 0,
            RESP0 => self.strobe_player(0, clock, hpos),
            RESP1 => self.strobe_player(1, clock, hpos),
            RESM0 => {
                let special = (clock - self.last_hmove == 60 && hpos == 69).then_some(8);
                self.positions[M0] = special.unwrap_or(strobed(hpos));
                self.star_width = StarWidth::Normal;
            }
            RESM1 => {
                let special = (clock - self.last_hmove == 9 && hpos == 18).then_some(3);
                self.positions[M1] = special.unwrap_or(strobed(hpos));
            }
            RESBL => {
                let since_hmove = clock - self.last_hmove;
                self.positions[BL] = if since_hmove == 54 && (hpos == 60 || hpos == 69) {
                    10
                } else if since_hmove == 9 && hpos == 18 {
                    3
                } else if since_hmove == 21 && hpos == 30 {
                    6
                } else if since_hmove == 18 && hpos == 27 {
                    5
                } else {
                    strobed(hpos)
                };
            }
            GRP0 => self.old_graphics[1] = self.byte(GRP1),
            GRP1 => {
                self.old_graphics[0] = self.byte(GRP0);
                self.old_enabl = self.byte(ENABL);
            }
            RESMP0 | RESMP1 => {
                let player = usize::from(register - RESMP0);
                if before[usize::from(register)] & 2 != 0 && value & 2 == 0 {
                    let middle = match self.nusiz(player) & 7 {
                        5 => 8,
                        7 => 16,
                        _ => 4,
                    };
                    self.positions[M0 + player] = (self.positions[player] + middle) % 160;
                    if player == 0 {
                        self.star_width = StarWidth::Normal;
                    }
                }
            }
            HMM0 => {
                let nibbles = (before[usize::from(HMM0)] >> 4, value >> 4);
                if clock - self.last_hmove == 63 && nibbles == (7, 6) {
                    self.stars = true;
                    self.star_line = 0;
                }
            }
            HMOVE => self.hmove(clock, hpos / 3),
            HMCLR => {
                for register in [HMP0, HMP1, HMM0, HMM1, HMBL] {
                    self.registers[usize::from(register)] = 0;
                }
            }
            CXCLR => self.collisions = [0; 8],
            _ => {}
        }
    }

    fn hmove(&mut self, clock: i32, cycle: i32) {
        if self.geometry.hmove_blanks && (cycle <= 20 || cycle == 75) {
            self.comb = true;
        }
        for (object, register) in [HMP0, HMP1, HMM0, HMM1, HMBL].into_iter().enumerate() {
            let motion = i32::from(self.byte(register) >> 4);
            let right = if motion < 8 { -motion } else { 16 - motion };
            let position = self.positions[object] + hmove_distance(cycle, right);
            self.positions[object] = position.rem_euclid(160);
        }
        self.first_copy_suppressed = [false; 2];
        self.star_width = StarWidth::Normal;
        self.stars = false;
        self.last_hmove = clock;
    }

    fn strobe_player(&mut self, player: usize, clock: i32, hpos: i32) {
        let position = if hpos < 68 { 3 } else { (hpos - 68 + 5) % 160 };
        let width = match self.nusiz(player) & 7 {
            5 => 16,
            7 => 32,
            _ => 8,
        };
        let mut suppressed = true;
        let mut shown = false;
        for &offset in copies(self.nusiz(player)) {
            let e = (position - self.positions[player] - offset).rem_euclid(160);
            if e < 4 {
                suppressed = false;
            } else if e < 4 + width {
                shown = true;
            }
        }
        if shown {
            self.draw(clock + 11);
        }
        self.positions[player] = position;
        self.first_copy_suppressed[player] = suppressed;
    }

    fn colour(&self, register: u16) -> u8 {
        self.byte(register) & 0xFE | self.parity
    }

    fn is_blanked(&self) -> bool {
        self.byte(VBLANK) & 2 != 0
    }

    fn score(&self) -> bool {
        self.byte(CTRLPF) & 2 != 0
    }

    fn nusiz(&self, player: usize) -> u8 {
        self.byte(NUSIZ0 + player as u16)
    }

    fn byte(&self, register: u16) -> u8 {
        self.registers[usize::from(register)]
    }
}

/// Returns the offsets of the copies that NUSIZ selects.
fn copies(nusiz: u8) -> &'static [i32] {
    match nusiz & 7 {
        1 => &[0, 16],
        2 => &[0, 32],
        3 => &[0, 16, 32],
        4 => &[0, 64],
        6 => &[0, 32, 64],
        _ => &[0],
    }
}

/// Returns the position at which RESMx and RESBL place their object.
fn strobed(hpos: i32) -> i32 {
    if hpos < 68 { 2 } else { (hpos - 68 + 4) % 160 }
}

/// Returns the distance by which HMOVE in this cycle moves an object that the regular HMOVE moves by `right`.
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
