//! Pending pixels, flushes and stale masks: the part of drawing that spans and lines share.

use super::collision::Object;
use super::mask::{Mask, WIDTH};
use super::motion::CosmicArk;
use super::objects::{MissileShape, moved};
use super::paint::{self, Layers};
use super::{ALL_STALE, HBLANK, Tia};

/// HMOVE blanks the pixels of a line before this colour clock: eight of them.
pub(super) const COMB_END: i32 = HBLANK + 8;

/// The method of drawing a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Drawing {
    /// By spans, like the reference. Correct for every frame.
    #[default]
    Spans,
    /// By lines. Correct for a frame that begins now and ends below the screen.
    Lines,
    /// By lines without painting. Only collisions are latched.
    CollisionsOnly,
}

/// The steps of drawing that differ between the ways of drawing a frame.
pub(super) trait Draw {
    /// Makes the pixels up to the colour clock `to` pending.
    fn extend_pending(tia: &mut Tia, to: i32);

    /// Flushes all pending pixels, before a change that may affect any of them or before the latches are
    /// read.
    fn flush(tia: &mut Tia);

    /// Flushes or saves an object's pixels before one of its registers changes.
    fn flush_object(tia: &mut Tia, object: Object);

    /// Flushes or saves a player's pixels before its graphics change, but nothing else.
    fn flush_graphics(tia: &mut Tia, index: usize);

    /// Flushes the pending pixels of a colour, by its index, before it changes.
    fn flush_coloured(tia: &mut Tia, index: usize);

    /// Handles the write of HMOVE, which blanks the start of a line if `blanks` is true.
    fn comb(tia: &mut Tia, blanks: bool);
}

impl Tia {
    /// Returns true if something changes at the end of this line.
    pub(super) fn has_pending_line_end(&self) -> bool {
        // Without branches, because almost always every term is false.
        (self.playfield.reflected ^ self.playfield.reflect)
            | self.players[0].first_suppressed
            | self.players[1].first_suppressed
            | self.cosmic_ark.active
    }

    pub(super) fn end_line(&mut self) {
        if self.playfield.reflected != self.playfield.reflect {
            self.playfield.reflected = self.playfield.reflect;
            self.mark_stale(Object::Pf);
        }
        self.show_first_copies();
        if self.cosmic_ark.active {
            self.step_cosmic_ark();
        }
    }

    /// Shows the players' first copies again.
    #[inline]
    pub(super) fn show_first_copies(&mut self) {
        if !(self.players[0].first_suppressed || self.players[1].first_suppressed) {
            return;
        }
        for (index, object) in [Object::P0, Object::P1].into_iter().enumerate() {
            if self.players[index].first_suppressed {
                self.players[index].first_suppressed = false;
                self.mark_stale(object);
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
        self.mark_stale(Object::M0);
    }

    /// Marks an object's mask as stale, because one of its registers has changed.
    #[inline]
    pub(super) fn mark_stale(&mut self, object: Object) {
        let bit = object.bit();
        self.mark_reshaped(object);
        if self.is_on(object) {
            self.active |= bit;
            self.line.active |= bit;
        } else {
            self.active &= !bit;
        }
    }

    /// Marks an object's mask as stale, because a register has changed that does not switch it on or off.
    #[inline]
    pub(super) fn mark_reshaped(&mut self, object: Object) {
        self.stale |= object.bit();
        self.line.above = None;
    }

    /// Returns true if an object's registers switch it on, even if it has no pixels on this line.
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

    /// Returns true if an object is switched on as of its last change.
    #[inline]
    pub(super) fn is_active(&self, object: Object) -> bool {
        self.active & object.bit() != 0
    }

    /// Recomputes the state that snapshots omit.
    pub(crate) fn refresh(&mut self) {
        self.stale = ALL_STALE;
        for object in Object::ALL {
            self.mark_stale(object);
        }
    }

    /// Refreshes the stale masks of all objects.
    #[inline]
    pub(super) fn refresh_objects(&mut self) {
        if self.stale != 0 {
            for object in Object::ALL {
                self.refresh_object(object);
            }
        }
    }

    /// Refreshes an object's mask if it is stale.
    #[inline]
    pub(super) fn refresh_object(&mut self, object: Object) {
        if self.stale & object.bit() != 0 {
            self.refresh_stale_object(object);
        }
    }

    fn refresh_stale_object(&mut self, object: Object) {
        self.stale &= !object.bit();
        self.objects[object as usize] = match object {
            Object::P0 => self.players[0].mask(),
            Object::P1 => self.players[1].mask(),
            Object::M0 => self.missiles[0].mask(),
            Object::M1 => self.missiles[1].mask(),
            Object::Bl => self.ball.mask(),
            Object::Pf => self.playfield.mask(),
        };
    }

    /// Returns the current row of the screen. `None` for rows below the screen, which exist after a reset in mid-frame
    /// (qbert, tetris).
    #[inline]
    pub(super) fn row(&mut self) -> Option<&mut [u8; WIDTH]> {
        let first = self.beam.row * WIDTH;
        self.screens[usize::from(self.current)].get_mut(first..)?.first_chunk_mut()
    }

    /// Returns the layers of the current line if the objects have the given pixels.
    #[inline]
    pub(super) fn layers(&self, pixels: impl Fn(Object) -> Mask) -> Layers {
        let score = self.playfield.score && (!self.playfield.priority || self.active == PF);
        layers(pixels, self.colours, score, self.playfield.priority)
    }

    /// Paints the pixels `start..end` of the current line.
    #[inline]
    pub(super) fn paint(&mut self, layers: &Layers, start: usize, end: usize) {
        let [.., background] = self.colours;
        if let Some(row) = self.row() {
            paint::paint(row, start, end, background, layers);
        }
    }

    pub(super) fn is_blanked(&self) -> bool {
        self.vblank & 0x02 != 0
    }
}

/// The set of active objects that contains the playfield only.
pub(super) const PF: u8 = Object::Pf.bit();

/// Returns the objects of a line and their colours from back to front.
///
/// In score mode the playfield has the players' colours. It is in front of player 1 and the ball, but behind
/// player 0.
#[inline]
fn layers(pixels: impl Fn(Object) -> Mask, colours: [u8; 4], score: bool, priority: bool) -> Layers {
    let [p0, p1, m0, m1, ball, field] = Object::ALL.map(pixels);
    let [colup0, colup1, colupf, _] = colours;
    let first = (p0 | m0, colup0);
    let second = (p1 | m1, colup1);
    if score {
        // The left half has player 0's colour, so it can share that layer.
        let left = field & Mask::span(0, WIDTH / 2);
        let right = field & Mask::span(WIDTH / 2, WIDTH);
        [(ball, colupf), second, (right, colup1), (first.0 | left, colup0)]
    } else if priority {
        [(Mask::EMPTY, 0), second, first, (field | ball, colupf)]
    } else {
        [(Mask::EMPTY, 0), (field | ball, colupf), second, first]
    }
}
