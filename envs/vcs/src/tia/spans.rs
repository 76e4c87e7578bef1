//! Drawing by spans: the pixels between two accesses are drawn when the reference draws them.
//!
//! It is needed for frames that are cut off within the visible lines, where the last span leaves traces, and for frames
//! that began with an earlier request. All other frames are drawn [by lines](super::lines), with the same pixels and
//! latches.

use super::collision::{self, Object};
use super::draw::{COMB_END, Draw, PF};
use super::mask::{Mask, WIDTH};
use super::{HBLANK, LINE, Tia};

/// The number of pixels that the reference may paint beyond the end of a span.
const OVERSHOOT: i32 = 3;

/// Drawing by spans.
pub(super) struct BySpans;

impl Draw for BySpans {
    fn extend_pending(tia: &mut Tia, to: i32) {
        let to = to.min(tia.beam.display_stop);
        if to > tia.beam.pending_to {
            if to <= tia.beam.pending_to.saturating_add(OVERSHOOT) {
                // This span may not cover what the one before painted too far.
                tia.draw_spans();
            }
            tia.beam.pending_before = tia.beam.pending_to;
            tia.beam.pending_to = to;
        }
        // The pixels that HMOVE blanks in a span depend on the access times.
        if tia.hmove_blank {
            tia.draw_spans();
        }
    }

    fn flush(tia: &mut Tia) {
        tia.draw_spans();
    }

    fn flush_object(tia: &mut Tia, _: Object) {
        tia.draw_spans();
    }

    fn flush_graphics(tia: &mut Tia, _: usize) {
        tia.draw_spans();
    }

    fn flush_coloured(tia: &mut Tia, index: usize) {
        let objects = tia.coloured(index);
        if objects == 0 || tia.active & objects != 0 {
            tia.draw_spans();
        }
    }

    fn comb(tia: &mut Tia, blanks: bool) {
        tia.draw_spans();
        tia.hmove_blank |= blanks;
    }
}

impl Tia {
    /// Draws all pending pixels and latches their collisions. Outside the visible lines nothing happens: no
    /// pixels, no collisions, no end-of-line actions.
    pub(super) fn draw_spans(&mut self) {
        let beam = &self.beam;
        let to = beam.pending_to;
        if to < beam.display_start || beam.drawn_to >= beam.display_stop || beam.drawn_to >= to {
            return;
        }
        let clocks = to - beam.drawn_to;
        let until_first_pixel = HBLANK - (LINE - beam.clocks_left);
        if clocks <= until_first_pixel && !self.hmove_blank {
            self.beam.drawn_to = to;
            self.beam.clocks_left -= clocks;
        } else {
            self.draw_lines(to);
        }
    }

    /// Draws up to the colour clock `to`, line by line. If the pending pixels end exactly at a line's end,
    /// its end-of-line actions stay pending. They follow with the next flush, after any write at the
    /// boundary.
    fn draw_lines(&mut self, to: i32) {
        loop {
            let start = LINE - self.beam.clocks_left;
            let line_ends = to - self.beam.drawn_to > self.beam.clocks_left;
            let clocks = if line_ends { self.beam.clocks_left } else { to - self.beam.drawn_to };
            let end = start + clocks;
            if end > HBLANK && end > start {
                self.draw_span((start.max(HBLANK) - HBLANK) as usize, (end - HBLANK) as usize);
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

    /// Draws the pixels `start..end` of the current line.
    fn draw_span(&mut self, start: usize, end: usize) {
        if self.is_blanked() {
            if let Some(row) = self.row() {
                row[start..end].fill(0);
            }
            return;
        }
        self.refresh_objects();
        let missing = collision::possible(self.active) & !self.collisions;
        self.collisions |=
            collision::latches(|object| self.objects[object as usize], Mask::span(start, end), missing);
        let layers = self.layers(|object| self.objects[object as usize]);
        self.paint(&layers, start, end);
    }

    /// Blanks the first pixels of a line after HMOVE, span by span. A span that ends before the first pixel
    /// blanks more than eight: one for each colour clock up to the ninth pixel. Later spans draw over that,
    /// unless the frame ends there (found by experiment with ale-py 0.12.1).
    fn comb(&mut self, start: i32, end: i32) {
        let from = start.max(end.min(HBLANK));
        if from >= COMB_END {
            return;
        }
        let first = self.beam.row * WIDTH + (from - HBLANK).max(0) as usize;
        let pixels = first..first + (COMB_END - from) as usize;
        let screen = &mut self.screens[usize::from(self.current)];
        if let Some(pixels) = screen.get_mut(pixels) {
            pixels.fill(0);
        }
        if end >= COMB_END {
            self.hmove_blank = false;
        }
    }

    /// Paints beyond the end of a span, at pixel `end`, as the reference does. It paints some spans in aligned groups
    /// of four pixels, and so up to three pixels too far. Later spans cover that, unless the frame ends here.
    fn overshoot(&mut self, end: usize) {
        let cell = end - end % 4;
        let (active, score) = (self.active, self.playfield.score);
        let paints_fours =
            OVERSHOOTING >> active & 1 == 1 || !score && OVERSHOOTING_WITHOUT_SCORE >> active & 1 == 1;
        if !paints_fours || self.is_blanked() {
            return;
        }
        if self.last_span_start().is_none_or(|start| cell < start) {
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
        if let Some(pixels) = self.screens[usize::from(self.current)].get_mut(first + end..first + cell + 4) {
            pixels.fill(colour);
        }
    }

    /// Returns the pixel of the current line at which the span between the last two accesses begins. `None`
    /// if the span has no pixel on the line.
    fn last_span_start(&self) -> Option<usize> {
        let beam = &self.beam;
        let line_start = beam.drawn_to - (LINE - beam.clocks_left);
        let begun_here = beam.pending_before >= beam.display_start && beam.pending_before > line_start;
        let start = if begun_here { beam.pending_before - line_start } else { 0 };
        (beam.drawn_to == beam.pending_to).then(|| (start.max(HBLANK) - HBLANK) as usize)
    }

    /// Returns all pixels that these players, missiles and ball could cover with any graphics.
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

const P0: u8 = Object::P0.bit();
const P1: u8 = Object::P1.bit();
const M0: u8 = Object::M0.bit();
const M1: u8 = Object::M1.bit();
const BL: u8 = Object::Bl.bit();

/// The sets of active objects that the reference paints in groups of four pixels: bit `s` is set for set `s`.
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
