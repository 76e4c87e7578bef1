//! The TIA (Television Interface Adaptor), which draws the screen and latches collisions.
//!
//! Objects are sets of pixels of a line (`mask`), collisions are intersections of such sets (`collision`),
//! and the screen shows the objects' colours by priority (`paint`). Time is counted in colour clocks from the
//! start of the frame, three per CPU cycle and 228 per scanline.
//!
//! # From a write to a pixel
//!
//! ```text
//!            write                 a collision is read,            a shown value changes,
//!                                  the frame ends                  the line ends
//!   program --------> log (`log`) ----------------------> pending ------------------------> drawn
//!                                                         pixels
//! ```
//!
//! A frame's writes go into a log, and nothing else happens until the log is *applied*, in the order of the writes.
//! Each write makes all pixels up to its colour clock *pending*: they will be drawn with the values of the registers
//! before the write. They are *flushed* (drawn, with their collisions latched) only before a value that they show
//! changes, when a collision is read, and when the frame ends.
//!
//! The chip skips unneeded work:
//!
//! * Most writes change nothing. Translated code does not log them (`log`).
//! * Most masks remain the same from line to line. A change of an object's register makes its mask *stale*, and
//!   the next flush that needs the mask refreshes it (`draw`).
//! * Many lines are equal to the line above, although something was written in between. They are copied
//!   (`Line::above`).
//! * Programs read few of the fifteen collision latches. The others stay *unknown* (`deferred_latches`).
//! * A screen that is not requested stays *undrawn*: its frame latches collisions only, and the console replays the
//!   frame if the screen is needed after all (`crate::replay`).
//!
//! # Lines and spans
//!
//! A frame is drawn in one of three ways ([`Drawing`]):
//!
//! * By lines (`lines`): a line is flushed as a whole. The time of an access within a line affects only which pixels
//!   the objects had before a change (`Line::saved`).
//! * By lines without painting: only collisions are latched.
//! * By spans (`spans`), in a frame that is cut off or continues one. Writes are applied at once, and the pixels
//!   between two accesses are flushed together, as in the reference, except where spans can be merged.

mod collision;
mod deferred_latches;
#[cfg(test)]
mod dots;
mod draw;
mod lines;
mod log;
mod mask;
mod motion;
mod objects;
mod paint;
mod playfield;
mod read;
pub mod registers;
mod sound;
mod spans;
mod spare;
mod stretch;
#[cfg(test)]
mod tests;
mod write;

use serde::{Deserialize, Serialize};

pub(crate) use collision::ALL as ALL_LATCHES;
use collision::Objects;
use deferred_latches::DeferredLatches;
pub(crate) use draw::Drawing;
use lines::Line;
use log::Log;
pub(crate) use log::{Logging, SIGNIFICANT, logging};
pub(crate) use mask::WIDTH;
use motion::CosmicArk;
use objects::{Ball, Missile, Player};
use playfield::Playfield;
pub(crate) use read::PINS;
pub use sound::{SoundGenerator, SoundRegisters};
pub(crate) use spare::give_screen;

/// Colour clocks per scanline.
pub(crate) const LINE: i32 = 228;
/// Colour clocks per scanline before its first pixel.
const HBLANK: i32 = 68;
/// A time that is never reached.
const NEVER: i32 = 0x7FFF_FFFF;

/// Properties that depend on the game and on the television system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Geometry {
    /// The first visible scanline.
    pub(crate) ystart: i32,
    /// Number of visible scanlines.
    pub(crate) height: i32,
    /// A write to the TIA below this scanline ends the frame.
    pub(crate) last_line: i32,
    /// True if HMOVE blanks the first eight pixels of a line.
    pub(crate) hmove_blanks: bool,
    /// True if frames with an odd number of lines lose their colour (PAL).
    pub(crate) colour_loss: bool,
}

impl Geometry {
    /// Returns the number of pixels of the screen.
    fn pixels(&self) -> usize {
        self.height as usize * WIDTH
    }
}

/// Progress of drawing in the current frame, in colour clocks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Beam {
    /// Start of the frame: 0 or slightly negative, since the position in the line carries over between
    /// frames.
    frame_start: i32,
    /// Start and end of the visible lines.
    display_start: i32,
    display_stop: i32,
    /// Pixels before this clock are drawn.
    drawn_to: i32,
    /// Clocks from `drawn_to` to the end of the line.
    clocks_left: i32,
    /// Pixels from `drawn_to` to this clock are pending. It is the latest clock at which an access takes
    /// effect.
    pending_to: i32,
    /// The value of `pending_to` before the last access that increased it.
    pending_before: i32,
    /// The current row of the screen.
    row: usize,
}

impl Beam {
    /// Returns true if these times can result from a frame or from a reset in mid-frame.
    fn is_possible(&self, geometry: &Geometry) -> bool {
        if !(1 - LINE..=0).contains(&self.frame_start) || !(0..=LINE).contains(&self.clocks_left) {
            return false;
        }
        let display_start = self.frame_start + LINE * geometry.ystart;
        // A frame in which the system was reset draws from its start.
        let is_reset = self.frame_start == 0 && self.begins_at(0);
        self.display_start == display_start
            && self.display_stop == display_start + LINE * geometry.height
            && (self.begins_at(display_start) || is_reset)
            && (self.drawn_to..=self.display_stop.max(self.drawn_to)).contains(&self.pending_to)
            && self.pending_before <= self.pending_to
    }

    /// Returns true if row 0 begins at the colour clock `start`.
    fn begins_at(&self, start: i32) -> bool {
        let line_start = i64::from(self.drawn_to) + i64::from(self.clocks_left) - i64::from(LINE);
        let clocks = line_start - i64::from(start);
        clocks % i64::from(LINE) == 0 && usize::try_from(clocks / i64::from(LINE)) == Ok(self.row)
    }
}

/// The chip and the two screens that it draws alternately.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Tia {
    geometry: Geometry,
    beam: Beam,
    /// Palette bytes, `height * WIDTH` per screen; empty if its memory was freed. They are not cleared
    /// between frames: below a short frame the screen shows the frame before the previous one (the last row
    /// of `journey_escape`).
    screens: [Vec<u8>; 2],
    /// The index of the screen that is being drawn.
    current: bool,
    /// True if a frame has begun but not ended.
    unfinished: bool,
    /// True if the unfinished frame has been greyed out.
    greyed: bool,
    #[serde(skip)]
    drawing: Drawing,
    /// Number of scanlines of the last finished frame.
    lines: i32,

    /// The clock from which clearing VSYNC ends the frame.
    vsync_finish: i32,
    /// The clock of the last write of HMOVE.
    last_hmove: i32,
    /// True if HMOVE blanks the start of the current line or of the next one.
    hmove_blank: bool,
    cosmic_ark: CosmicArk,

    vblank: u8,
    /// COLUP0, COLUP1, COLUPF, COLUBK.
    colours: [u8; 4],
    players: [Player; 2],
    missiles: [Missile; 2],
    ball: Ball,
    playfield: Playfield,
    collisions: u16,
    #[serde(skip)]
    deferred: DeferredLatches,

    /// True while the capacitors of the paddles are being discharged (VBLANK bit 7).
    dump: bool,
    /// The CPU cycle at which the last discharge ended.
    dump_end: u32,

    /// Not part of a saved state, as in ale-py.
    #[serde(skip)]
    sound: SoundRegisters,

    /// The pixels of each object on the current line.
    #[serde(skip)]
    objects: Objects,
    /// The objects that their registers switch on, one bit each.
    #[serde(skip)]
    active: u8,
    /// The objects whose masks are stale, one bit each.
    #[serde(skip)]
    stale: u8,
    #[serde(skip)]
    line: Line,
    #[serde(skip)]
    log: Log,
}

/// All masks are stale.
const ALL_STALE: u8 = 0x3F;

impl Tia {
    pub(crate) fn new(geometry: Geometry) -> Self {
        let screen = vec![0; geometry.pixels()];
        Self {
            geometry,
            beam: Beam::default(),
            screens: [screen.clone(), screen],
            current: false,
            unfinished: false,
            greyed: false,
            drawing: Drawing::default(),
            lines: 0,
            vsync_finish: NEVER,
            last_hmove: 0,
            hmove_blank: false,
            cosmic_ark: CosmicArk::default(),
            vblank: 0,
            colours: [0; 4],
            players: Default::default(),
            missiles: Default::default(),
            ball: Ball::default(),
            playfield: Playfield::default(),
            collisions: 0,
            deferred: DeferredLatches::default(),
            dump: false,
            dump_end: 0,
            sound: SoundRegisters::default(),
            objects: Objects::default(),
            active: 0,
            stale: ALL_STALE,
            line: Line::default(),
            log: Log::default(),
        }
    }

    /// Resets the chip at the colour clock `now`, except for the sound. A frame that is unfinished remains so.
    pub(crate) fn reset(&mut self, now: i32) {
        let fresh = Self::new(self.geometry);
        let old = std::mem::replace(self, fresh);
        let display_start = now + LINE * self.geometry.ystart;
        self.beam = Beam {
            frame_start: now,
            display_start,
            display_stop: display_start + LINE * self.geometry.height,
            // An unfinished frame shows scanline 0 in row 0, once its first visible line has begun.
            drawn_to: now,
            clocks_left: LINE,
            pending_to: now,
            pending_before: now,
            row: 0,
        };
        self.current = old.current;
        self.unfinished = old.unfinished;
        self.greyed = old.greyed;
        self.sound = old.sound;
    }

    /// Changes the television system, which takes effect at the next reset.
    pub(crate) fn set_geometry(&mut self, geometry: Geometry) {
        self.geometry = geometry;
    }

    /// Returns the number of rows of the screen.
    pub(crate) fn height(&self) -> usize {
        self.geometry.height as usize
    }

    /// Frees the memory of a screen for other consoles of this thread.
    pub(crate) fn free_screen(&mut self, screen: usize) {
        give_screen(std::mem::take(&mut self.screens[screen]));
    }

    /// Returns the palette bytes of the current screen, row by row.
    pub(crate) fn screen(&self) -> &[u8] {
        &self.screens[usize::from(self.current)]
    }

    /// Returns the palette bytes of the other screen.
    pub(crate) fn previous_screen(&self) -> &[u8] {
        &self.screens[usize::from(!self.current)]
    }

    /// Returns the index of the current screen.
    pub(crate) fn current_screen(&self) -> usize {
        usize::from(self.current)
    }

    /// Returns true if the last frame has covered the whole screen.
    pub(crate) fn covers_screen(&self) -> bool {
        !self.unfinished && self.beam.drawn_to >= self.beam.display_stop
    }

    /// Returns a copy without screens.
    pub(crate) fn clone_without_screens(&mut self) -> Self {
        let screens = self.take_screens();
        let copy = self.clone();
        self.put_screens(screens);
        copy
    }

    /// Restores everything but the screens.
    pub(crate) fn restore_all_but_screens(&mut self, state: &Self) {
        let screens = self.take_screens();
        self.clone_from(state);
        self.put_screens(screens);
    }

    /// Removes the screens. The chip must not run without them.
    pub(crate) fn take_screens(&mut self) -> [Vec<u8>; 2] {
        std::mem::take(&mut self.screens)
    }

    /// Puts the screens back.
    pub(crate) fn put_screens(&mut self, screens: [Vec<u8>; 2]) {
        self.screens = screens;
    }

    /// Makes a screen the current one.
    pub(crate) fn set_current_screen(&mut self, screen: usize) {
        self.current = screen == 1;
    }

    /// Returns the palette bytes of a screen.
    pub(crate) fn screen_pixels(&self, screen: usize) -> &[u8] {
        &self.screens[screen]
    }

    /// Sets the palette bytes of a screen.
    pub(crate) fn set_screen_pixels(&mut self, screen: usize, pixels: Vec<u8>) {
        self.screens[screen] = pixels;
    }

    /// Returns the number of pixels of a screen.
    pub(crate) fn screen_len(&self) -> usize {
        self.geometry.pixels()
    }

    /// Returns true if these screens have the size of the chip's.
    pub(crate) fn fit(&self, screens: &[Vec<u8>; 2]) -> bool {
        screens.iter().all(|screen| screen.len() == self.screen_len())
    }

    /// Returns true if no screen has been freed.
    pub(crate) fn has_screens(&self) -> bool {
        self.fit(&self.screens)
    }

    /// Moves all times back by `cycles`.
    pub(crate) fn rebase(&mut self, cycles: u32) {
        let clocks = (cycles as i32).wrapping_mul(3);
        for time in [
            &mut self.beam.frame_start,
            &mut self.beam.display_start,
            &mut self.beam.display_stop,
            &mut self.beam.drawn_to,
            &mut self.beam.pending_to,
            &mut self.beam.pending_before,
            &mut self.vsync_finish,
            &mut self.last_hmove,
        ] {
            *time = time.wrapping_sub(clocks);
        }
        self.dump_end = self.dump_end.wrapping_sub(cycles);
    }

    /// Returns the sound registers.
    pub(crate) fn sound(&self) -> SoundRegisters {
        self.sound
    }

    /// Sets the sound registers.
    pub(crate) fn set_sound(&mut self, sound: SoundRegisters) {
        self.sound = sound;
    }

    /// Returns true if a frame has begun but not ended.
    pub(crate) fn is_unfinished(&self) -> bool {
        self.unfinished
    }

    /// Begins a frame. The caller has just rebased the time; `phase` is the colour clock's position in its line. The
    /// frame does not check for the latches `skipped`, one bit each.
    pub(crate) fn start_frame(&mut self, phase: i32, drawing: Drawing, skipped: u16) {
        self.current = !self.current;
        let display_start = LINE * self.geometry.ystart - phase;
        self.beam = Beam {
            frame_start: -phase,
            display_start,
            display_stop: display_start + LINE * self.geometry.height,
            drawn_to: display_start,
            clocks_left: LINE,
            pending_to: display_start,
            pending_before: display_start,
            row: 0,
        };
        self.greyed = false;
        self.unfinished = true;
        if self.geometry.colour_loss {
            let parity = self.lines as u8 & 1;
            self.colours = self.colours.map(|colour| colour & 0xFE | parity);
        }
        self.drawing = drawing;
        self.deferred.start_frame(skipped);
        let screen = &mut self.screens[usize::from(self.current)];
        if drawing != Drawing::CollisionsOnly && screen.is_empty() {
            *screen = spare::take_screen(self.geometry.pixels());
        }
        self.line.above = None;
        if drawing != Drawing::Spans {
            self.start_line();
        }
        self.open_log();
    }

    /// Makes drawing player 0 panic.
    #[cfg(feature = "testing")]
    pub(crate) fn damage(&mut self) {
        self.players[0].copies = u8::MAX;
    }

    /// Ends the frame after a panic. Its state is unspecified, but translated code may still append a few writes until
    /// it notices that the log has ended.
    #[cold]
    pub(crate) fn abandon_frame(&mut self) {
        self.unfinished = false;
        self.abandon_log();
    }

    /// Ends a request for a frame at the colour clock `now`. `greys` is true if an unfinished frame is to be
    /// greyed out.
    pub(crate) fn end_request(&mut self, now: i32, greys: bool) {
        self.close_log();
        match self.drawing {
            Drawing::Spans => self.draw_spans(),
            _ => self.finish_frame_lines(),
        }
        if self.unfinished {
            self.grey_out(now, greys);
        } else {
            self.lines = self.line(now);
        }
    }

    /// Greys out the rows that an unfinished frame has not reached, once per frame.
    fn grey_out(&mut self, now: i32, paints: bool) {
        let greyed = std::mem::replace(&mut self.greyed, true);
        if greyed || !paints {
            return;
        }
        let first_row = self.line(now).max(self.geometry.ystart) - self.geometry.ystart;
        let screen = &mut self.screens[usize::from(self.current)];
        for pixel in screen.iter_mut().skip(first_row as usize * WIDTH) {
            *pixel = (*pixel & 15) >> 1;
        }
    }

    /// Returns the colour clock at which the frame began.
    pub(crate) fn frame_start(&self) -> i32 {
        self.beam.frame_start
    }

    /// Returns a number that, added to the CPU cycle at which a line begins, gives a multiple of 76.
    fn line_phase(&self) -> u32 {
        (self.beam.frame_start.wrapping_neg() / 3) as u32
    }

    /// Returns the scanline of a colour clock.
    fn line(&self, now: i32) -> i32 {
        now.wrapping_sub(self.beam.frame_start) / LINE
    }

    /// Returns the position of a colour clock in its scanline, 0 to 227.
    pub(crate) fn horizontal(&self, now: i32) -> i32 {
        now.wrapping_sub(self.beam.frame_start).rem_euclid(LINE)
    }

    /// Returns the CPU cycles from `now` to the start of the next scanline, or 0 if one starts at `now`.
    pub(crate) fn cycles_to_next_line(&self, now: i32) -> u32 {
        match self.horizontal(now) {
            0 => 0,
            clocks => (LINE - clocks) as u32 / 3,
        }
    }

    /// Returns true if a deserialised state without screens is valid, so that drawing needs no checks. The beam's times
    /// must fit together, positions be on the line, and sizes within their tables.
    pub(crate) fn accepts(&self, state: &Self) -> bool {
        let on_line = |position: u8| usize::from(position) < WIDTH;
        state.geometry == self.geometry
            && state.beam.is_possible(&self.geometry)
            && state.cosmic_ark.counter < 4
            && state
                .players
                .iter()
                .all(|player| on_line(player.position) && player.copies < 8 && player.motion < 16)
            && state.missiles.iter().all(|missile| {
                on_line(missile.position) && missile.copies < 8 && missile.size < 4 && missile.motion < 16
            })
            && on_line(state.ball.position)
            && state.ball.size < 4
            && state.ball.motion < 16
    }
}
