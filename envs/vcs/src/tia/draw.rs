//! Catching up: drawing everything between the last drawn colour clock and now.

use super::collision::{self, Object};
use super::mask::{Mask, WIDTH};
use super::motion::CosmicArk;
use super::objects::{MissileShape, moved};
use super::{HBLANK, LINE, Tia, paint};

/// Pixels that HMOVE blanks at the beginning of a line.
const COMB: usize = 8;

impl Tia {
    /// Draws and latches everything before the colour clock `to`. Nothing happens outside the visible window: no
    /// pixels, no collisions, no end-of-line actions.
    #[inline]
    pub(super) fn draw_to(&mut self, to: i32) {
        let beam = &self.beam;
        if to >= beam.display_start && beam.drawn_to < beam.display_stop && beam.drawn_to < to {
            self.draw_lines(to.min(beam.display_stop));
        }
    }

    /// A catch-up that ends exactly at a line's end leaves that line's end-of-line actions pending: they follow with
    /// the next one, after whatever is written at the boundary.
    fn draw_lines(&mut self, to: i32) {
        loop {
            let start = LINE - self.beam.clocks_left;
            let line_ends = to > self.beam.drawn_to + self.beam.clocks_left;
            let clocks = if line_ends {
                self.beam.clocks_left
            } else {
                to - self.beam.drawn_to
            };
            let end = start + clocks;
            if end > HBLANK && end > start {
                self.draw_piece((start.max(HBLANK) - HBLANK) as usize, (end - HBLANK) as usize);
            }
            self.beam.drawn_to += clocks;
            if !line_ends {
                self.beam.clocks_left -= clocks;
                return;
            }
            self.beam.clocks_left = LINE;
            self.beam.row += 1;
            self.end_line();
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

    /// Marks an object's mask as out of date.
    #[inline]
    pub(super) fn touch(&mut self, object: Object) {
        self.stale |= 1 << object as u8;
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
        let blanked = self.vblank & 0x02 != 0;
        if !blanked {
            if self.stale != 0 {
                self.refresh_objects();
            }
            let span = Mask::span(start, end);
            self.collisions |= collision::latches(&self.objects.map(|mask| mask & span));
        }
        // Rows below the picture exist after a reset in the middle of a frame (qbert, tetris).
        let first = self.beam.row * WIDTH;
        let picture = &mut self.pictures[usize::from(self.current)];
        let line = picture
            .get_mut(first..first + WIDTH)
            .and_then(|line| line.try_into().ok());
        if let Some(line) = line {
            let line: &mut [u8; WIDTH] = line;
            if blanked {
                line[start..end].fill(0);
            } else {
                let (layers, background) = layers(&self.objects, &self.playfield, self.colours);
                paint::paint(line, start, end, background, &layers);
            }
            if self.hmove_blank && start < COMB {
                line[start..COMB].fill(0);
            }
            if !blanked && end % 4 != 0 {
                self.overshoot(start, end);
            }
        }
        if start < COMB && end >= COMB {
            self.hmove_blank = false;
        }
    }

    /// The reference paints some pieces four aligned pixels at a time and so up to three pixels too far. Later
    /// drawing covers that, unless the frame ends here.
    fn overshoot(&mut self, start: usize, end: usize) {
        let cell = end - end % 4;
        if cell < start {
            return;
        }
        let active = self.active_objects();
        let score = self.playfield.score;
        if !(OVERSHOOTING.contains(&active) || !score && OVERSHOOTING_WITHOUT_SCORE.contains(&active)) {
            return;
        }
        let quad = Mask::span(cell, cell + 4);
        let bit = |object: Object| active >> object as u8 & 1 == 1;
        let covered = bit(Object::P0) && self.players[0].area().intersects(quad)
            || bit(Object::P1) && self.players[1].area().intersects(quad)
            || bit(Object::M0) && self.missiles[0].area().intersects(quad)
            || bit(Object::M1) && self.missiles[1].area().intersects(quad)
            || bit(Object::Bl) && self.ball.area().intersects(quad);
        if covered {
            return;
        }
        let [colup0, colup1, colupf, colubk] = self.colours;
        let colour = match (self.playfield.cell(cell), score && active == PF) {
            (false, _) => colubk,
            (true, false) => colupf,
            (true, true) => [colup0, colup1][cell / (WIDTH / 2)],
        };
        let first = self.beam.row * WIDTH;
        self.pictures[usize::from(self.current)][first + end..first + cell + 4].fill(colour);
    }

    /// A bit for each object that its registers switch on, whether it has pixels on this line or not.
    fn active_objects(&self) -> u8 {
        u8::from(self.players[0].shown() != 0) * P0
            | u8::from(self.players[1].shown() != 0) * P1
            | u8::from(self.missiles[0].active()) * M0
            | u8::from(self.missiles[1].active()) * M1
            | u8::from(self.ball.active()) * BL
            | u8::from(self.playfield.active()) * PF
    }
}

const P0: u8 = 1 << Object::P0 as u8;
const P1: u8 = 1 << Object::P1 as u8;
const M0: u8 = 1 << Object::M0 as u8;
const M1: u8 = 1 << Object::M1 as u8;
const BL: u8 = 1 << Object::Bl as u8;
const PF: u8 = 1 << Object::Pf as u8;

/// The sets of active objects that the reference paints four pixels at a time.
const OVERSHOOTING: [u8; 11] = [
    PF,
    P0,
    P1,
    P0 | P1,
    M0,
    M1,
    M0 | M1,
    BL,
    BL | M0,
    BL | M1,
    BL | P1,
];
const OVERSHOOTING_WITHOUT_SCORE: [u8; 3] = [PF | P0, PF | P1, PF | BL];

/// The colours of a line from back to front, and the background.
///
/// Playfield pixels in score mode take the players' colours and stand before player 1 and the ball, but behind
/// player 0. The priority bit switches score mode off, unless the playfield is the only active object.
fn layers(
    objects: &collision::Objects,
    playfield: &super::playfield::Playfield,
    colours: [u8; 4],
) -> ([(Mask, u8); 4], u8) {
    let [p0, p1, m0, m1, ball, field] = *objects;
    let [colup0, colup1, colupf, colubk] = colours;
    let first = (p0 | m0, colup0);
    let second = (p1 | m1, colup1);
    let layers = if playfield.priority {
        [(Mask::EMPTY, 0), second, first, (field | ball, colupf)]
    } else if playfield.score {
        // Left of the middle the field has player 0's colour, so it may share its layer.
        let left = field & Mask::span(0, WIDTH / 2);
        let right = field & Mask::span(WIDTH / 2, WIDTH);
        [(ball, colupf), second, (right, colup1), (first.0 | left, colup0)]
    } else {
        [(Mask::EMPTY, 0), (field | ball, colupf), second, first]
    };
    (layers, colubk)
}
