//! Catching up: drawing everything between the last drawn colour clock and now.
//!
//! Every access to the chip is a moment at which the picture could be caught up. Most need not be used: as long as
//! nothing that can be seen has changed, `note` only remembers the moment and the next change draws it all in one
//! go (`flush`). What depends on the moments themselves (the overshoot of a cut-off picture) uses the last two.

use super::collision::{self, Object, Objects};
use super::mask::{Mask, WIDTH};
use super::motion::CosmicArk;
use super::objects::{MissileShape, moved};
use super::{ALL_STALE, HBLANK, LINE, Tia, paint};

/// The colour clock of a line before which HMOVE blanks its pixels: there are eight.
const COMB_END: i32 = HBLANK + 8;

impl Tia {
    /// The picture is wanted up to the colour clock `to`, with the registers as they are now.
    #[inline]
    pub(super) fn note(&mut self, to: i32) {
        let beam = &mut self.beam;
        let to = to.min(beam.display_stop);
        if to > beam.wanted {
            beam.wanted_before = beam.wanted;
            beam.wanted = to;
        }
        // What the comb blanks depends on the moments themselves.
        if self.hmove_blank && !self.unseen {
            self.flush();
        }
    }

    /// Draws and latches everything that is wanted. Nothing happens outside the visible window: no pixels, no
    /// collisions, no end-of-line actions.
    #[inline]
    pub(super) fn flush(&mut self) {
        let beam = &self.beam;
        let to = beam.wanted;
        if to < beam.display_start || beam.drawn_to >= beam.display_stop || beam.drawn_to >= to {
            return;
        }
        let start = LINE - beam.clocks_left;
        let end = start + to - beam.drawn_to;
        if end <= HBLANK && !self.hmove_blank {
            self.beam.drawn_to = to;
            self.beam.clocks_left = LINE - end;
        } else if self.unseen && self.leaves_no_trace() {
            self.pass(start, end);
            self.beam.drawn_to = to;
        } else {
            self.draw_lines(to);
        }
    }

    /// Whether nothing happens but that time passes, as long as no register changes: no new collision is possible, and
    /// no action waits for the end of the line.
    fn leaves_no_trace(&self) -> bool {
        (self.is_blanked() || collision::possible(self.active) & !self.collisions == 0)
            && self.playfield.reflected == self.playfield.reflect
            && !self.players.iter().any(|player| player.first_suppressed)
            && !self.cosmic_ark.active
    }

    /// Lets the beam pass from colour clock `start` of its line to `end`, counted on over the ends of lines.
    fn pass(&mut self, start: i32, end: i32) {
        if start < COMB_END && end >= COMB_END || end >= LINE + COMB_END {
            self.hmove_blank = false;
        }
        // Exactly at the end of a line its actions are still pending.
        self.beam.row += ((end - 1) / LINE) as usize;
        self.beam.clocks_left = LINE - 1 - (end - 1) % LINE;
    }

    /// A catch-up that ends exactly at a line's end leaves that line's end-of-line actions pending: they follow with
    /// the next one, after whatever is written at the boundary.
    fn draw_lines(&mut self, to: i32) {
        // Whether the row above was drawn whole with the objects of now.
        let mut repeats = false;
        loop {
            let start = LINE - self.beam.clocks_left;
            let line_ends = to > self.beam.drawn_to + self.beam.clocks_left;
            let clocks = if line_ends { self.beam.clocks_left } else { to - self.beam.drawn_to };
            let end = start + clocks;
            if end > HBLANK && end > start {
                let piece = (start.max(HBLANK) - HBLANK) as usize..(end - HBLANK) as usize;
                let whole = piece == (0..WIDTH) && !self.hmove_blank;
                if repeats && whole && self.stale == 0 {
                    self.repeat_row();
                } else {
                    repeats = whole;
                    self.draw_piece(piece.start, piece.end);
                }
            }
            self.beam.drawn_to += clocks;
            if !line_ends {
                self.beam.clocks_left -= clocks;
                if end > HBLANK && end % 4 != 0 {
                    self.overshoot((end - HBLANK) as usize);
                }
            }
            if self.hmove_blank {
                self.comb(start, end);
            }
            if !line_ends {
                return;
            }
            self.beam.clocks_left = LINE;
            self.beam.row += 1;
            self.end_line();
        }
    }

    /// A line with the objects of the one before it: its pixels are the same, its collisions are latched.
    fn repeat_row(&mut self) {
        if self.unseen {
            return;
        }
        let first = self.beam.row * WIDTH;
        let picture = &mut self.pictures[usize::from(self.current)];
        if let Some((above, row)) = picture.split_at_mut_checked(first)
            && let (Some(above), Some(row)) = (above.last_chunk::<WIDTH>(), row.first_chunk_mut::<WIDTH>())
        {
            *row = *above;
        }
    }

    fn end_line(&mut self) {
        if self.playfield.reflected != self.playfield.reflect {
            self.playfield.reflected = self.playfield.reflect;
            self.touch(Object::Pf);
        }
        self.show_first_copies();
        if self.cosmic_ark.active {
            self.step_cosmic_ark();
        }
    }

    /// Ends the suppression of the players' first copies.
    pub(super) fn show_first_copies(&mut self) {
        for (index, object) in [Object::P0, Object::P1].into_iter().enumerate() {
            if self.players[index].first_suppressed {
                self.players[index].first_suppressed = false;
                self.touch(object);
            }
        }
    }

    fn step_cosmic_ark(&mut self) {
        let ark = &mut self.cosmic_ark;
        ark.counter = (ark.counter + 1) % 4;
        let missile = &mut self.missiles[0];
        missile.position = moved(missile.position, -CosmicArk::STEPS[usize::from(ark.counter)]);
        missile.shape = match ark.counter {
            1 => MissileShape::Widened,
            2 => MissileShape::Invisible,
            _ => MissileShape::Normal,
        };
        self.touch(Object::M0);
    }

    /// Notes that one of an object's registers has changed.
    #[inline]
    pub(super) fn touch(&mut self, object: Object) {
        let bit = 1 << object as u8;
        self.stale |= bit;
        if self.is_on(object) {
            self.active |= bit;
        } else {
            self.active &= !bit;
        }
    }

    /// Whether an object's registers switch it on, whether it has pixels on this line or not.
    #[inline]
    pub(super) fn is_on(&self, object: Object) -> bool {
        match object {
            Object::P0 => self.players[0].shown() != 0,
            Object::P1 => self.players[1].shown() != 0,
            Object::M0 => self.missiles[0].active(),
            Object::M1 => self.missiles[1].active(),
            Object::Bl => self.ball.active(),
            Object::Pf => self.playfield.active(),
        }
    }

    /// Whether a register of an object shows in the picture.
    #[inline]
    pub(super) fn is_active(&self, object: Object) -> bool {
        self.active >> object as u8 & 1 == 1
    }

    /// Derives what is not part of a snapshot.
    pub(crate) fn refresh(&mut self) {
        self.stale = ALL_STALE;
        for object in [Object::P0, Object::P1, Object::M0, Object::M1, Object::Bl, Object::Pf] {
            self.touch(object);
        }
    }

    fn refresh_objects(&mut self) {
        let stale = std::mem::take(&mut self.stale);
        let is_stale = |object: Object| stale >> object as u8 & 1 == 1;
        for (index, object) in [Object::P0, Object::P1].into_iter().enumerate() {
            if is_stale(object) {
                self.objects[object as usize] = self.players[index].mask();
            }
        }
        for (index, object) in [Object::M0, Object::M1].into_iter().enumerate() {
            if is_stale(object) {
                self.objects[object as usize] = self.missiles[index].mask();
            }
        }
        if is_stale(Object::Bl) {
            self.objects[Object::Bl as usize] = self.ball.mask();
        }
        if is_stale(Object::Pf) {
            self.objects[Object::Pf as usize] = self.playfield.mask();
        }
    }

    /// Draws the pixels `start..end` of the present line.
    fn draw_piece(&mut self, start: usize, end: usize) {
        let blanked = self.is_blanked();
        let collides = !blanked && collision::possible(self.active) & !self.collisions != 0;
        if collides || !blanked && !self.unseen {
            if self.stale != 0 {
                self.refresh_objects();
            }
            if collides {
                let missing = collision::possible(self.active) & !self.collisions;
                self.collisions |= collision::latches(&self.objects, Mask::span(start, end), missing);
            }
        }
        if self.unseen {
            return;
        }
        // Rows below the picture exist after a reset in the middle of a frame (qbert, tetris).
        let first = self.beam.row * WIDTH;
        let picture = &mut self.pictures[usize::from(self.current)];
        if let Some(line) = picture.get_mut(first..first + WIDTH) {
            let line: &mut [u8; WIDTH] = line.try_into().expect("a whole line");
            if blanked {
                line[start..end].fill(0);
            } else {
                let [.., background] = self.colours;
                let score = self.playfield.score && (!self.playfield.priority || self.active == PF);
                let layers = layers(&self.objects, self.colours, score, self.playfield.priority);
                paint::paint(line, start, end, background, &layers);
            }
        }
    }

    /// HMOVE blanks the first pixels of a line, piece by piece. A piece that ends before the first pixel blanks more
    /// than the eight: as many as there are colour clocks to the ninth. Later pieces draw over that, unless the frame
    /// ends there (found by experiment with ale-py 0.12.1).
    fn comb(&mut self, start: i32, end: i32) {
        let from = start.max(end.min(HBLANK));
        if from >= COMB_END {
            return;
        }
        let first = self.beam.row * WIDTH + (from - HBLANK).max(0) as usize;
        let pixels = first..first + (COMB_END - from) as usize;
        let picture = &mut self.pictures[usize::from(self.current)];
        if let Some(pixels) = picture.get_mut(pixels).filter(|_| !self.unseen) {
            pixels.fill(0);
        }
        if end >= COMB_END {
            self.hmove_blank = false;
        }
    }

    fn is_blanked(&self) -> bool {
        self.vblank & 0x02 != 0
    }

    /// The reference paints some pieces four aligned pixels at a time and so up to three pixels too far. Later
    /// drawing covers that, unless the frame ends here, at pixel `end`.
    fn overshoot(&mut self, end: usize) {
        let cell = end - end % 4;
        let (active, score) = (self.active, self.playfield.score);
        let paints_fours =
            OVERSHOOTING >> active & 1 == 1 || !score && OVERSHOOTING_WITHOUT_SCORE >> active & 1 == 1;
        if self.unseen || !paints_fours || self.is_blanked() {
            return;
        }
        if self.last_piece_start().is_none_or(|start| cell < start) {
            return;
        }
        if self.area_of(active).intersects(Mask::span(cell, cell + 4)) {
            return;
        }
        let [colup0, colup1, colupf, colubk] = self.colours;
        let colour = match (self.playfield.cell(cell), score && active == PF) {
            (false, _) => colubk,
            (true, false) => colupf,
            (true, true) => [colup0, colup1][cell / (WIDTH / 2)],
        };
        let first = self.beam.row * WIDTH;
        if let Some(pixels) = self.pictures[usize::from(self.current)].get_mut(first + end..first + cell + 4)
        {
            pixels.fill(colour);
        }
    }

    /// Where on the present line the piece between the last two accesses begins; `None` if it has no pixel on it.
    fn last_piece_start(&self) -> Option<usize> {
        let beam = &self.beam;
        let line_start = beam.drawn_to + beam.clocks_left - LINE;
        let begun_here = beam.wanted_before >= beam.display_start && beam.wanted_before > line_start;
        let start = if begun_here { beam.wanted_before - line_start } else { 0 };
        (beam.drawn_to == beam.wanted).then(|| (start.max(HBLANK) - HBLANK) as usize)
    }

    /// All pixels that these players, missiles and ball could cover, whatever their graphics.
    fn area_of(&self, active: u8) -> Mask {
        let mut area = Mask::EMPTY;
        for index in 0..2 {
            if active & P0 << index != 0 {
                area |= self.players[index].area();
            }
            if active & M0 << index != 0 {
                area |= self.missiles[index].area();
            }
        }
        if active & BL != 0 {
            area |= self.ball.area();
        }
        area
    }
}

const P0: u8 = 1 << Object::P0 as u8;
const P1: u8 = 1 << Object::P1 as u8;
const M0: u8 = 1 << Object::M0 as u8;
const M1: u8 = 1 << Object::M1 as u8;
const BL: u8 = 1 << Object::Bl as u8;
const PF: u8 = 1 << Object::Pf as u8;

/// The sets of active objects that the reference paints four pixels at a time: bit `s` stands for set `s`.
const OVERSHOOTING: u64 = sets(&[PF, P0, P1, P0 | P1, M0, M1, M0 | M1, BL, BL | M0, BL | M1, BL | P1]);
const OVERSHOOTING_WITHOUT_SCORE: u64 = sets(&[PF | P0, PF | P1, PF | BL]);

const fn sets(members: &[u8]) -> u64 {
    let mut bits = 0;
    let mut index = 0;
    while index < members.len() {
        bits |= 1 << members[index];
        index += 1;
    }
    bits
}

/// The colours of a line's objects from back to front.
///
/// Playfield pixels in score mode take the players' colours and stand before player 1 and the ball, but behind
/// player 0.
fn layers(objects: &Objects, colours: [u8; 4], score: bool, priority: bool) -> [(Mask, u8); 4] {
    let [p0, p1, m0, m1, ball, field] = *objects;
    let [colup0, colup1, colupf, _] = colours;
    let first = (p0 | m0, colup0);
    let second = (p1 | m1, colup1);
    if score {
        // Left of the middle the field has player 0's colour, so it may share its layer.
        let left = field & Mask::span(0, WIDTH / 2);
        let right = field & Mask::span(WIDTH / 2, WIDTH);
        [(ball, colupf), second, (right, colup1), (first.0 | left, colup0)]
    } else if priority {
        [(Mask::EMPTY, 0), second, first, (field | ball, colupf)]
    } else {
        [(Mask::EMPTY, 0), (field | ball, colupf), second, first]
    }
}
