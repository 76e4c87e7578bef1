//! The TIA (Television Interface Adaptor): it makes the picture and notices collisions.
//!
//! The chip is drawn lazily: nothing happens until a register is touched or the frame ends, then everything up to
//! that colour clock is caught up (`draw`). Objects are sets of pixels of a line (`mask`), collisions are
//! intersections (`collision`), the picture is colours by priority over those sets (`paint`).
//!
//! Time is counted in colour clocks, three to a CPU cycle and 228 to a scanline, from the beginning of the frame.

mod collision;
#[cfg(test)]
mod dots;
mod draw;
mod lines;
mod mask;
mod motion;
mod objects;
mod paint;
mod playfield;
mod read;
mod redundant;
pub mod registers;
mod spans;
mod spare;
mod stretch;
#[cfg(test)]
mod tests;
mod write;

use serde::{Deserialize, Serialize};

use collision::Objects;
pub(crate) use draw::Drawing;
use lines::Line;
pub(crate) use mask::WIDTH;
use motion::CosmicArk;
use objects::{Ball, Missile, Player};
use playfield::Playfield;
use redundant::RedundantWrites;

/// Colour clocks in a scanline.
pub(crate) const LINE: i32 = 228;
/// Colour clocks of a scanline before its first pixel.
const HBLANK: i32 = 68;
/// A time that is never reached.
const NEVER: i32 = 0x7FFF_FFFF;

/// What differs between games and television systems.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Geometry {
    /// The first visible scanline.
    pub(crate) ystart: i32,
    /// Number of visible scanlines.
    pub(crate) height: i32,
    /// A TIA write below this scanline ends the frame.
    pub(crate) last_line: i32,
    /// Whether HMOVE blanks the first eight pixels of a line.
    pub(crate) hmove_blanks: bool,
    /// Whether frames with an odd number of lines lose their colour (PAL).
    pub(crate) colour_loss: bool,
}

impl Geometry {
    /// Pixels of the picture.
    fn pixels(&self) -> usize {
        self.height as usize * WIDTH
    }
}

/// How far the picture is drawn, in colour clocks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Beam {
    /// Where the frame began: 0 or somewhat negative, so that the horizontal phase carries over between frames.
    frame_start: i32,
    /// The window of visible lines.
    display_start: i32,
    display_stop: i32,
    /// Everything before this clock is drawn.
    drawn_to: i32,
    /// Clocks from there to the end of the line.
    clocks_left: i32,
    /// Where the picture is wanted to: the latest moment at which an access could have caught it up.
    pending_to: i32,
    /// The moment before that one.
    pending_before: i32,
    /// The row of the picture that is being drawn.
    row: usize,
}

/// The chip and the two pictures it draws alternately.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Tia {
    geometry: Geometry,
    beam: Beam,
    /// Palette bytes, `height * WIDTH` each, or nothing if the picture was forgotten. Never cleared between frames: what a
    /// short frame does not reach shows the picture from two frames ago (`journey_escape`'s last row).
    screens: [Vec<u8>; 2],
    /// The picture that is being drawn.
    current: bool,
    /// A frame has begun and not ended.
    unfinished: bool,
    /// The unfinished frame was greyed out already.
    greyed: bool,
    #[serde(skip)]
    drawing: Drawing,
    /// Scanlines of the last finished frame.
    lines: i32,

    /// When a write that clears VSYNC ends the frame.
    vsync_finish: i32,
    /// When HMOVE was last written.
    last_hmove: i32,
    /// HMOVE blanks the beginning of the line being drawn, or of the next one.
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

    /// The paddles' capacitors are being discharged (VBLANK bit 7).
    dump: bool,
    /// When the discharge last ended, in CPU cycles.
    dump_end: u32,

    /// The pixels of each object on the line being drawn, kept until one of its registers changes.
    #[serde(skip)]
    objects: Objects,
    /// Which of them their registers switch on, a bit each.
    #[serde(skip)]
    active: u8,
    /// Which of `objects` are out of date, a bit each.
    #[serde(skip)]
    stale: u8,
    #[serde(skip)]
    line: Line,
    #[serde(skip)]
    redundant: RedundantWrites,
}

/// Every object's mask is out of date.
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
            dump: false,
            dump_end: 0,
            objects: Objects::default(),
            active: 0,
            stale: ALL_STALE,
            line: Line::default(),
            redundant: RedundantWrites::default(),
        }
    }

    /// What a console reset does, at the colour clock `now`. Whether a frame is unfinished stays as it is.
    pub(crate) fn reset(&mut self, now: i32) {
        let fresh = Self::new(self.geometry);
        let old = std::mem::replace(self, fresh);
        self.beam = Beam {
            frame_start: now,
            drawn_to: now,
            clocks_left: LINE,
            pending_to: now,
            pending_before: now,
            row: 0,
            ..old.beam
        };
        self.current = old.current;
        self.unfinished = old.unfinished;
        self.greyed = old.greyed;
        self.lines = old.lines;
    }

    /// Changes the television system; takes effect with the next reset.
    pub(crate) fn set_geometry(&mut self, geometry: Geometry) {
        self.geometry = geometry;
    }

    /// Rows of the picture.
    pub(crate) fn height(&self) -> usize {
        self.geometry.height as usize
    }

    /// Gives a picture's memory to others of this thread.
    pub(crate) fn free_screen(&mut self, screen: usize) {
        spare::give(std::mem::take(&mut self.screens[screen]));
    }

    /// The palette bytes of the picture, row after row.
    pub(crate) fn screen(&self) -> &[u8] {
        &self.screens[usize::from(self.current)]
    }

    /// The picture that is not being drawn.
    pub(crate) fn previous_screen(&self) -> &[u8] {
        &self.screens[usize::from(!self.current)]
    }

    /// Which of the two pictures is the present one.
    pub(crate) fn current_screen(&self) -> usize {
        usize::from(self.current)
    }

    /// Whether the last frame has reached the end of the picture.
    pub(crate) fn covers_screen(&self) -> bool {
        !self.unfinished && self.beam.drawn_to >= self.beam.display_stop
    }

    /// A copy that has no pictures.
    pub(crate) fn clone_without_screens(&mut self) -> Self {
        let screens = std::mem::take(&mut self.screens);
        let copy = self.clone();
        self.screens = screens;
        copy
    }

    /// Takes everything but the pictures from `state`.
    pub(crate) fn restore_all_but_screens(&mut self, state: &Self) {
        let screens = std::mem::take(&mut self.screens);
        self.clone_from(state);
        self.screens = screens;
    }

    /// Moves all times back.
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

    /// Whether a frame has begun and not ended.
    pub(crate) fn is_unfinished(&self) -> bool {
        self.unfinished
    }

    /// Begins a frame at the colour clock `now`, which the caller has just made a small number by rebasing.
    pub(crate) fn start_frame(&mut self, phase: i32, drawing: Drawing) {
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
        let screen = &mut self.screens[usize::from(self.current)];
        if drawing != Drawing::CollisionsOnly && screen.is_empty() {
            *screen = spare::take(self.geometry.pixels());
        }
        if drawing != Drawing::Spans {
            self.start_lines();
        }
        self.start_skipping();
    }

    /// Goes on with a frame that a former request left unfinished.
    pub(crate) fn resume_frame(&mut self) {
        self.unfinished = true;
    }

    /// What happens when a request for a frame is over, at the colour clock `now`. `greys` is whether a picture that
    /// was not finished fades.
    pub(crate) fn end_request(&mut self, now: i32, greys: bool) {
        match self.drawing {
            Drawing::Spans => self.draw_spans(),
            _ => self.finish_frame_lines(),
        }
        self.stop_skipping();
        if self.unfinished {
            self.grey_out(now, greys);
        } else {
            self.lines = self.line(now);
        }
    }

    /// The program has stopped drawing: what it did not reach fades to grey, once.
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

    /// The colour clock at which the frame began.
    pub(crate) fn frame_start(&self) -> i32 {
        self.beam.frame_start
    }

    /// The colour clock's scanline in this frame.
    fn line(&self, now: i32) -> i32 {
        now.wrapping_sub(self.beam.frame_start) / LINE
    }

    /// The colour clock's place in its scanline, 0 to 227.
    pub(crate) fn horizontal(&self, now: i32) -> i32 {
        now.wrapping_sub(self.beam.frame_start).rem_euclid(LINE)
    }

    /// CPU cycles from `now` to the beginning of the next scanline; 0 exactly at the beginning of one.
    pub(crate) fn cycles_to_next_line(&self, now: i32) -> u32 {
        match self.horizontal(now) {
            0 => 0,
            clocks => (LINE - clocks) as u32 / 3,
        }
    }

    /// Whether a state that came out of a snapshot is one that this chip can be in: positions in the line, sizes in
    /// their tables. Damaged ones are refused, so that drawing needs no checks.
    pub(crate) fn accepts(&self, state: &Self) -> bool {
        let on_line = |position: u8| usize::from(position) < WIDTH;
        state.geometry == self.geometry
            && state.screens.iter().all(|screen| screen.len() == self.geometry.pixels())
            && (0..=LINE).contains(&state.beam.clocks_left)
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
