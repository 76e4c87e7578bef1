//! Drawing up to an access, and the colour of each dot.

use super::super::WIDTH;
use super::super::registers::{COLUBK, COLUP0, COLUP1, COLUPF, CTRLPF};
use super::{BL, CELL, COMB_END, CTRLPF_PFP, CTRLPF_REF, Dots, HBLANK, LINE, M0, M1, P0, P1, PF, StarWidth};

/// The bits of the collision registers CXM0P to CXPPMM: register, bit, and the two objects.
const COLLISIONS: [(usize, u8, usize, usize); 15] = [
    (0, 0x80, M0, P1),
    (0, 0x40, M0, P0),
    (1, 0x80, M1, P0),
    (1, 0x40, M1, P1),
    (2, 0x80, P0, PF),
    (2, 0x40, P0, BL),
    (3, 0x80, P1, PF),
    (3, 0x40, P1, BL),
    (4, 0x80, M0, PF),
    (4, 0x40, M0, BL),
    (5, 0x80, M1, PF),
    (5, 0x40, M1, BL),
    (6, 0x80, BL, PF),
    (7, 0x80, P0, P1),
    (7, 0x40, M0, M1),
];

/// The sets of active objects that the reference paints in groups of four pixels; those of the second list only without
/// the score bit.
const BY_FOURS: [&[usize]; 11] =
    [&[PF], &[P0], &[P1], &[P0, P1], &[M0], &[M1], &[M0, M1], &[BL], &[M0, BL], &[M1, BL], &[P1, BL]];
const BY_FOURS_WITHOUT_SCORE: [&[usize]; 3] = [&[P0, PF], &[P1, PF], &[BL, PF]];

/// Pixels by which missile 0 moves left in each of four lines while it draws the stars of Cosmic Ark.
const STAR_STEPS: [i32; 4] = [18, 33, 0, 17];

impl Dots {
    /// Draws up to the colour clock `to`, exclusive.
    pub(super) fn draw(&mut self, to: i32) {
        let to = to.min(self.display_stop);
        if to < self.display_start || self.drawn_to >= to {
            return;
        }
        let mut piece_start = None;
        for clock in self.drawn_to..to {
            let hpos = (clock - self.origin) % LINE;
            let row = ((clock - self.origin) / LINE) as usize;
            if hpos == 0 && row > 0 {
                self.end_of_line();
                piece_start = None;
            }
            if hpos >= HBLANK {
                let x = (hpos - HBLANK) as usize;
                let colour = self.dot(x);
                self.paint(row, x, colour);
                piece_start.get_or_insert(x);
            }
            if hpos == LINE - 1 || clock + 1 == to {
                self.end_of_piece(row, piece_start, hpos + 1);
            }
        }
        self.drawn_to = to;
    }

    /// Applies the side effects of painting a piece that begins at pixel `start` and ends before `hpos`.
    fn end_of_piece(&mut self, row: usize, start: Option<usize>, hpos: i32) {
        if let Some(start) = start {
            self.overshoot(row, start, (hpos - HBLANK) as usize);
        }
        // The comb is as long as at the start of a line, but begins at the start of the piece.
        let first = start.unwrap_or(0);
        let skipped_to = if start.is_some() { HBLANK + first as i32 } else { hpos };
        if self.comb && skipped_to < COMB_END {
            for x in 0..(COMB_END - skipped_to) as usize {
                self.paint(row, first + x, 0);
            }
            if hpos >= COMB_END {
                self.comb = false;
            }
        }
    }

    /// Paints beyond the end of a piece, at pixel `end`, up to the end of a group of four pixels, as the reference
    /// does.
    fn overshoot(&mut self, row: usize, start: usize, end: usize) {
        let cell = end / CELL * CELL;
        let active: Vec<usize> = (P0..=PF).filter(|&object| self.is_active(object)).collect();
        let by_fours = BY_FOURS.contains(&active.as_slice())
            || !self.has_score_colours() && BY_FOURS_WITHOUT_SCORE.contains(&active.as_slice());
        let covered = |x: usize| active.iter().any(|&object| object != PF && self.covers(object, x));
        if end == cell || cell < start || self.is_blanked() || !by_fours || (cell..cell + CELL).any(covered) {
            return;
        }
        let colour = match (self.playfield(cell), self.has_score_colours() && active == [PF]) {
            (false, _) => self.colour(COLUBK),
            (true, false) => self.colour(COLUPF),
            (true, true) => self.colour(if cell < WIDTH / 2 { COLUP0 } else { COLUP1 }),
        };
        for x in end..cell + CELL {
            self.paint(row, x, colour);
        }
    }

    /// Applies the changes between two lines.
    fn end_of_line(&mut self) {
        self.mirrored = self.byte(CTRLPF) & CTRLPF_REF != 0;
        self.first_copy_suppressed = [false; 2];
        if self.stars {
            self.star_line = (self.star_line + 1) % STAR_STEPS.len();
            self.positions[M0] = (self.positions[M0] - STAR_STEPS[self.star_line]).rem_euclid(WIDTH as i32);
            self.star_width = match self.star_line {
                1 => StarWidth::AtLeastTwo,
                2 => StarWidth::Zero,
                _ => StarWidth::Normal,
            };
        }
    }

    /// Sets a pixel, unless it is below the screen, where rows exist after a reset in mid-frame.
    fn paint(&mut self, row: usize, x: usize, colour: u8) {
        if let Some(pixel) = self.screens[self.current].get_mut(row * WIDTH + x) {
            *pixel = colour;
        }
    }

    /// Latches the collisions of pixel `x` and returns its colour.
    fn dot(&mut self, x: usize) -> u8 {
        if self.is_blanked() {
            return 0;
        }
        let on: [bool; 6] = std::array::from_fn(|object| self.is_on(object, x));
        for (register, bit, first, second) in COLLISIONS {
            if on[first] && on[second] {
                self.collisions[register] |= bit;
            }
        }
        // In score mode, the playfield keeps the players' colours if no other object is switched on.
        let alone = on[PF] && (P0..=BL).all(|object| !self.is_active(object));
        let priority = self.byte(CTRLPF) & CTRLPF_PFP != 0 && !(self.has_score_colours() && alone);
        let score_colour = if x < WIDTH / 2 { COLUP0 } else { COLUP1 };
        self.colour(if priority && (on[PF] || on[BL]) {
            COLUPF
        } else if on[P0] || on[M0] {
            COLUP0
        } else if !priority && self.has_score_colours() && on[PF] {
            score_colour
        } else if on[P1] || on[M1] {
            COLUP1
        } else if on[PF] || on[BL] {
            COLUPF
        } else {
            COLUBK
        })
    }
}
