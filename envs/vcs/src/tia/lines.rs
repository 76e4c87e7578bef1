//! Drawing by lines: a whole line is painted, and its collisions latched, when the line is over.
//!
//! When an object changes in mid-line, its pixels so far are saved. At the end of the line each object
//! consists of its saved and its current pixels. A change of a colour splits the line only if pixels of that
//! colour have been shown.

use super::collision::{self, Object, Objects, PLAYERS};
use super::draw::{COMB_END, Draw, Drawing, PF};
use super::mask::{Mask, WIDTH};
use super::playfield::{self, CELL};
use super::{HBLANK, LINE, Tia};

/// The state of the current line.
#[derive(Clone, Debug, Default)]
pub(super) struct Line {
    /// Pixels before this one are drawn.
    drawn: usize,
    /// The objects that have changed in this line, one bit each.
    changed: u8,
    /// The pixel at which each of them last changed, and its pixels before that.
    changed_at: [usize; 6],
    saved: Objects,
    /// The saved pixels of the playfield, which changes between cells only: 40 cells, the leftmost in bit 0.
    saved_cells: u64,
    /// The objects that were active since the last drawn pixel, one bit each.
    pub(super) active: u8,
    /// True if HMOVE blanks the start of the line.
    combed: bool,
    /// The value of `combed` for the line above, if that line was drawn as a whole and nothing that it shows has
    /// changed since. This line then has the same pixels, and its collisions are already latched.
    pub(super) above: Option<bool>,
}

/// Drawing by lines.
pub(super) struct ByLines;

impl Draw for ByLines {
    #[inline]
    fn extend_pending(tia: &mut Tia, to: i32) {
        let beam = &mut tia.beam;
        beam.pending_to = beam.pending_to.max(to.min(beam.display_stop));
    }

    #[inline]
    fn flush(tia: &mut Tia) {
        if tia.has_pending_pixels() {
            tia.draw_line(tia.pending_x());
        }
    }

    #[inline]
    fn flush_object(tia: &mut Tia, object: Object) {
        if tia.has_pending_pixels() {
            match object {
                Object::Pf => tia.save_cells(),
                _ => tia.save_pixels(object),
            }
        }
    }

    #[inline]
    fn flush_graphics(tia: &mut Tia, index: usize) {
        if tia.has_pending_pixels() {
            tia.save_graphics(index);
        }
    }

    #[inline]
    fn flush_coloured(tia: &mut Tia, index: usize) {
        if tia.drawing != Drawing::Lines || !tia.has_pending_pixels() {
            return;
        }
        match tia.coloured(index) {
            0 => tia.draw_line(tia.pending_x()),
            objects => tia.draw_coloured(objects),
        }
    }

    #[inline]
    fn comb(tia: &mut Tia, blanks: bool) {
        tia.comb_line(blanks);
    }
}

impl Tia {
    /// Begins a line.
    pub(super) fn start_line(&mut self) {
        self.line.drawn = 0;
        self.line.changed = 0;
        self.line.active = self.active;
        self.line.combed = std::mem::take(&mut self.hmove_blank);
    }

    /// Writes HMOVE, which may blank eight pixels: of this line, or of the next one if they have passed.
    fn comb_line(&mut self, blanks: bool) {
        let has_pending_pixels = self.has_pending_pixels();
        let passed = self.beam.pending_to - self.beam.drawn_to >= COMB_END;
        if blanks && !passed && has_pending_pixels {
            // Pixels that a write of RESPx has already made pending are not blanked.
            self.draw_line(self.pending_x());
        }
        self.line.combed |= blanks && !passed;
        self.hmove_blank |= blanks && passed;
    }

    /// Draws the lines that are over. Returns true if pixels of the current line are pending.
    #[inline]
    fn has_pending_pixels(&mut self) -> bool {
        if self.is_line_over() {
            self.finish_lines();
        }
        self.pending_x() > self.line.drawn
    }

    /// Returns the pixel of the current line up to which pixels are pending.
    #[inline]
    fn pending_x(&self) -> usize {
        ((self.beam.pending_to - self.beam.drawn_to).max(HBLANK) - HBLANK) as usize
    }

    /// Finishes the lines that are over. A line whose end has just been reached is not over: a write at the boundary
    /// still comes first.
    fn finish_lines(&mut self) {
        loop {
            let plain = self.line.drawn == 0 && self.line.changed == 0 && !self.line.combed;
            if self.line.drawn < WIDTH {
                self.draw_line(WIDTH);
            }
            let steady = !self.has_pending_line_end();
            if !steady {
                self.end_line();
            }
            self.next_line();
            if steady && !self.line.combed && self.is_line_over() {
                let lines = ((self.beam.pending_to - self.beam.drawn_to - 1) / LINE) as usize;
                // The first of several identical lines has latched all of their collisions.
                if self.drawing == Drawing::Lines && plain && self.stale == 0 {
                    self.repeat_row(lines);
                    self.skip_lines(lines);
                } else if self.drawing == Drawing::CollisionsOnly && (plain || self.latches_nothing()) {
                    self.skip_lines(lines);
                }
            }
            if !self.is_line_over() {
                return;
            }
        }
    }

    /// Returns true if the current line is over.
    #[inline]
    fn is_line_over(&self) -> bool {
        self.beam.pending_to - self.beam.drawn_to > LINE
    }

    fn skip_lines(&mut self, lines: usize) {
        self.beam.drawn_to += lines as i32 * LINE;
        self.beam.row += lines;
    }

    /// Copies the row above to the next `lines` rows.
    fn repeat_row(&mut self, lines: usize) {
        let Some(above) = (self.beam.row * WIDTH).checked_sub(WIDTH) else { return };
        let screen = &mut self.screens[usize::from(self.current)];
        let below = (above + (lines + 1) * WIDTH).min(screen.len());
        let Some(rows) = screen.get_mut(above..below) else { return };
        // Each iteration copies all rows so far, so that few calls copy many rows.
        let mut copied = WIDTH;
        while copied < rows.len() {
            let (source, target) = rows.split_at_mut(copied);
            let length = copied.min(target.len());
            target[..length].copy_from_slice(&source[..length]);
            copied += length;
        }
    }

    fn next_line(&mut self) {
        self.beam.drawn_to += LINE;
        self.beam.row += 1;
        self.start_line();
    }

    /// Returns the latches that the objects of this line could still set.
    #[inline]
    fn missing_collisions(&self) -> u16 {
        collision::possible(self.line.active) & !self.collisions & !self.deferred.skipped
    }

    /// Returns true if no collision can be latched until a register changes.
    #[inline]
    fn latches_nothing(&self) -> bool {
        self.missing_collisions() == 0 || self.is_blanked()
    }

    /// Returns true if an object's pixels up to `x` must be saved before it changes, because they are still to be drawn
    /// and have an effect.
    #[inline]
    fn must_save(&mut self, object: Object, x: usize) -> bool {
        if self.drawing == Drawing::CollisionsOnly {
            if self.latches_nothing() {
                self.line.drawn = x;
                self.line.active = self.active;
                return false;
            }
            if collision::BY_OBJECT[object as usize] & !self.collisions & !self.deferred.skipped == 0 {
                return false;
            }
        }
        // In score mode with priority, the playfield's colour depends on the other active objects.
        if self.playfield.score && self.playfield.priority {
            self.draw_line(x);
            return false;
        }
        true
    }

    /// Saves an object's pixels so far, before it changes.
    fn save_pixels(&mut self, object: Object) {
        let x = self.pending_x();
        if !self.must_save(object, x) {
            return;
        }
        self.refresh_object(object);
        let (line, bit) = (&mut self.line, object.bit());
        let pixels = self.objects[object as usize];
        let (saved, changed_at) = (&mut line.saved[object as usize], &mut line.changed_at[object as usize]);
        if line.changed & bit == 0 {
            *saved = pixels & Mask::span(0, x);
        } else {
            *saved |= pixels & Mask::span(*changed_at, x);
        }
        *changed_at = x;
        line.changed |= bit;
    }

    /// Saves the playfield's pixels so far, before it changes.
    fn save_cells(&mut self) {
        let x = self.pending_x();
        if !self.must_save(Object::Pf, x) {
            return;
        }
        if !x.is_multiple_of(CELL) {
            // A write of another register takes effect later than this one.
            return self.draw_line(x);
        }
        let cells = self.playfield.line_cells() & cells_before(x);
        let line = &mut self.line;
        let changed_at = &mut line.changed_at[Object::Pf as usize];
        if line.changed & PF == 0 {
            line.saved_cells = cells;
        } else {
            line.saved_cells |= cells & !cells_before(*changed_at);
        }
        *changed_at = x;
        line.changed |= PF;
    }

    /// Saves a player's pixels so far, before its graphics change.
    fn save_graphics(&mut self, index: usize) {
        let x = self.pending_x();
        let coloured_by_others = self.playfield.score && self.playfield.priority;
        // Most programs change the graphics before the beam reaches the player.
        if self.players[index].begins_at_or_after(x) && !coloured_by_others {
            return;
        }
        self.save_pixels(PLAYERS[index]);
    }

    /// Draws the pending pixels if any of `objects`, one bit each, has pixels among them. Called before their
    /// colour changes.
    fn draw_coloured(&mut self, objects: u8) {
        let x = self.pending_x();
        let pending = Mask::span(self.line.drawn, x);
        let coloured = Object::ALL.into_iter().filter(|&object| objects >> object as u8 & 1 == 1);
        for object in coloured {
            if self.pixels(object, self.line.changed).intersects(pending) {
                return self.draw_line(x);
            }
        }
    }

    /// Returns the pixels of an object in this line, as far as they are known. `changed` has one bit for each object
    /// with saved pixels.
    #[allow(clippy::inline_always)] // In the loops of its callers.
    #[inline(always)]
    fn pixels(&mut self, object: Object, changed: u8) -> Mask {
        let index = object as usize;
        if changed & PF != 0 && object == Object::Pf {
            return self.completed_field();
        }
        self.refresh_object(object);
        let now = self.objects[index];
        if changed >> index & 1 == 0 {
            return now;
        }
        self.line.saved[index] | now & Mask::span(self.line.changed_at[index], WIDTH)
    }

    /// Returns the saved pixels of the playfield, and those since its last change.
    fn completed_field(&self) -> Mask {
        let rest = self.playfield.line_cells() & !cells_before(self.line.changed_at[Object::Pf as usize]);
        playfield::mask(self.line.saved_cells | rest)
    }

    /// Paints the pixels up to `end` that are not drawn yet, of which there is at least one, and latches their
    /// collisions.
    fn draw_line(&mut self, end: usize) {
        let start = self.line.drawn;
        let missing = self.missing_collisions();
        let changed = std::mem::take(&mut self.line.changed);
        self.line.drawn = end;
        self.line.active = self.active;
        let paints = self.drawing == Drawing::Lines;
        if !paints && missing == 0 {
            // `above` still holds: whatever changes a mask resets it.
            return;
        }
        let is_whole = start == 0 && end == WIDTH && changed == 0 && !self.is_blanked();
        if is_whole && self.line.above == Some(self.line.combed) {
            if paints {
                self.repeat_row(1);
            }
            return;
        }
        self.line.above = is_whole.then_some(self.line.combed);
        if self.is_blanked() {
            if let Some(row) = self.row().filter(|_| paints) {
                row[start..end].fill(0);
            }
            return;
        }
        if !paints {
            return self.latch_line(Mask::span(start, end), missing, changed);
        }
        // In most lines no object has changed.
        if changed == 0 {
            self.refresh_objects();
            self.paint_line(start, end, missing, |tia, object| tia.objects[object as usize]);
        } else {
            self.complete_saved(changed);
            self.paint_line(start, end, missing, |tia, object| {
                let index = object as usize;
                if changed >> index & 1 == 1 { tia.line.saved[index] } else { tia.objects[index] }
            });
        }
    }

    /// Paints the pixels `start..end` and latches the collisions among `missing` that happen there.
    #[allow(clippy::inline_always)] // Each caller's way to get the pixels is simple.
    #[inline(always)]
    fn paint_line(&mut self, start: usize, end: usize, missing: u16, pixels: impl Fn(&Self, Object) -> Mask) {
        self.collisions |= collision::latches(|object| pixels(self, object), Mask::span(start, end), missing);
        let layers = self.layers(|object| pixels(self, object));
        let mut first = start;
        if self.line.combed && start < COMB {
            first = end.min(COMB);
            self.blank_comb(start, first);
        }
        self.paint(&layers, first, end);
    }

    /// Blanks the pixels in `start..end` that HMOVE blanks.
    fn blank_comb(&mut self, start: usize, end: usize) {
        if let Some(pixels) = self.row().and_then(|row| row.first_chunk_mut::<COMB>()) {
            match (start, end) {
                // The usual case: a single store, where `fill` would be a call.
                (0, COMB) => *pixels = [0; COMB],
                _ => pixels[start..end].fill(0),
            }
        }
    }

    /// Latches the collisions among `missing` that happen in `span`, without painting. `changed` has one bit for each
    /// object with saved pixels.
    fn latch_line(&mut self, span: Mask, missing: u16, changed: u8) {
        for (latch, first, second) in collision::pairs(missing) {
            let [first, second] = [first, second].map(|object| self.pixels(object, changed));
            if (first & span).intersects(second) {
                self.collisions |= latch;
            }
        }
    }

    /// Adds the pixels since the last change to the saved ones, for the objects in `changed`, one bit each. Refreshes
    /// the masks of all objects, but not that of a playfield that has changed, of which only the cells are needed.
    #[inline]
    fn complete_saved(&mut self, mut changed: u8) {
        let stale_field = self.stale & changed & PF;
        self.stale &= !stale_field;
        self.refresh_objects();
        self.stale |= stale_field;
        if changed & PF != 0 {
            self.line.saved[Object::Pf as usize] = self.completed_field();
            changed &= !PF;
        }
        while changed != 0 {
            let index = changed.trailing_zeros() as usize;
            changed &= changed - 1;
            let line = &mut self.line;
            line.saved[index] |= self.objects[index] & Mask::span(line.changed_at[index], WIDTH);
        }
    }

    /// Draws the rest of a frame, and leaves the beam where drawing by spans would leave it.
    pub(super) fn finish_frame_lines(&mut self) {
        ByLines::flush(self);
        let to = self.beam.pending_to;
        self.beam.clocks_left = self.beam.drawn_to + LINE - to;
        self.beam.drawn_to = to;
        // A snapshot must not depend on the redundant writes that were skipped.
        self.beam.pending_before = to;
        if self.beam.clocks_left > LINE - COMB_END {
            self.hmove_blank |= self.line.combed;
        }
        self.drawing = Drawing::Spans;
    }
}

/// Returns the cells of the playfield before pixel `x`, which begins one.
#[inline]
fn cells_before(x: usize) -> u64 {
    (1 << (x / CELL)) - 1
}

/// Number of pixels that HMOVE blanks.
const COMB: usize = (COMB_END - HBLANK) as usize;
