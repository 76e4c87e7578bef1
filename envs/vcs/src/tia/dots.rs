//! A second, slow TIA that draws dot by dot. Tests compare the parent module with it.
//!
//! It shares only the names of the registers with the fast TIA. Registers hold the bytes written, and at every colour
//! clock every object is evaluated. Drawing happens at every access, like in the reference. A *piece* is the part of a
//! line that one access draws. The times at which writes take effect are those of the reference, too.

mod draw;
mod objects;
mod write;

use super::registers::{CTRLPF, NUSIZ0, VBLANK};
use super::{Geometry, WIDTH};

/// Colour clocks of a scanline.
const LINE: i32 = 228;
/// Colour clocks of a scanline before its first pixel.
const HBLANK: i32 = 68;
/// HMOVE blanks the pixels of a scanline before this colour clock: eight of them.
const COMB_END: i32 = HBLANK + 8;
/// Colour clocks of a CPU cycle.
const CYCLE: i32 = 3;
/// Pixels of a cell of the playfield.
const CELL: usize = 4;

/// Bits of CTRLPF, by their names in the Stella Programmer's Guide.
const CTRLPF_REF: u8 = 1 << 0;
const CTRLPF_SCORE: u8 = 1 << 1;
const CTRLPF_PFP: u8 = 1 << 2;
/// Bit 1 is the only bit of VSYNC, ENAMx, ENABL and RESMPx. In VBLANK it switches the picture off.
const D1: u8 = 1 << 1;

/// Indices of the objects.
const P0: usize = 0;
const P1: usize = 1;
const M0: usize = 2;
const M1: usize = 3;
const BL: usize = 4;
const PF: usize = 5;

/// The slow TIA.
///
/// Times are colour clocks since the time was last rebased. A position in a scanline (`hpos`) is also in colour clocks,
/// 0 to 227; a position of an object is a pixel, 0 to 159.
pub(super) struct Dots {
    geometry: Geometry,
    /// The last value written to each register; for the motion registers the value in effect.
    registers: [u8; 64],
    /// Positions of P0, P1, M0, M1 and BL.
    positions: [i32; 5],
    /// The old values of GRP0 and GRP1, which are shown if VDELPx is set. A write of one copies the other.
    old_graphics: [u8; 2],
    /// The old value of ENABL, which counts if VDELBL is set. A write of GRP1 copies it.
    old_enabl: u8,
    /// True if a player's first copy is hidden until the end of the line, because RESPx was written.
    first_copy_suppressed: [bool; 2],
    /// True if the right half of the playfield is mirrored.
    mirrored: bool,
    /// True if HMOVE blanks the start of the current line or of the next one.
    comb: bool,
    /// True if missile 0 draws the stars of Cosmic Ark: it moves in every line without HMOVE.
    stars: bool,
    /// Lines modulo 4 since the stars began.
    star_line: usize,
    star_width: StarWidth,
    /// The collision registers CXM0P to CXPPMM.
    collisions: [u8; 8],
    /// Bit 0 of all colours. It is 1 in the frame after one with an odd number of lines, if colour is lost (PAL).
    parity: u8,

    screens: [Vec<u8>; 2],
    /// The index of the screen that is being drawn.
    current: usize,
    /// True if a frame has begun but not ended.
    unfinished: bool,
    /// True if the unfinished frame has been greyed out.
    greyed: bool,
    /// The number of scanlines of the last finished frame.
    lines: i32,

    frame_start: i32,
    /// The start and the end of the visible lines.
    display_start: i32,
    display_stop: i32,
    /// The colour clock of the first dot of row 0.
    origin: i32,
    /// Dots before this clock are drawn.
    drawn_to: i32,
    /// The clock from which clearing VSYNC ends the frame. `None` until VSYNC is set.
    vsync_finish: Option<i32>,
    /// The clock of the last write of HMOVE.
    last_hmove: i32,
}

/// The width of missile 0 while it draws the stars of Cosmic Ark.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StarWidth {
    /// The width that NUSIZ0 selects.
    Normal,
    /// That width, but at least two pixels.
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
        self.display_start = now + LINE * self.geometry.ystart;
        self.display_stop = self.display_start + LINE * self.geometry.height;
        (self.frame_start, self.origin, self.drawn_to) = (now, now, now);
    }

    /// Moves all times back by `cycles` CPU cycles.
    pub(super) fn rebase(&mut self, cycles: u32) {
        let clocks = CYCLE * cycles as i32;
        self.frame_start -= clocks;
        self.display_start -= clocks;
        self.display_stop -= clocks;
        self.origin -= clocks;
        self.drawn_to -= clocks;
        self.vsync_finish = self.vsync_finish.map(|finish| finish - clocks);
        self.last_hmove -= clocks;
    }

    /// Begins a frame at the position `phase` of a scanline, and draws it on the other screen.
    pub(super) fn start_frame(&mut self, phase: i32) {
        self.current = 1 - self.current;
        self.frame_start = -phase;
        self.display_start = self.frame_start + LINE * self.geometry.ystart;
        self.display_stop = self.display_start + LINE * self.geometry.height;
        self.origin = self.display_start;
        self.drawn_to = self.display_start;
        if self.geometry.colour_loss {
            self.parity = (self.lines % 2) as u8;
        }
        self.greyed = false;
        self.unfinished = true;
    }

    /// Ends a request at the colour clock `now`. A frame that is unfinished then is greyed out below that line, once.
    pub(super) fn end_request(&mut self, now: i32) {
        let line = (now - self.frame_start) / LINE;
        if !self.unfinished {
            self.lines = line;
        } else if !self.greyed {
            self.greyed = true;
            let first = line.max(self.geometry.ystart) - self.geometry.ystart;
            for row in first..self.geometry.height {
                for x in 0..WIDTH {
                    let pixel = &mut self.screens[self.current][row as usize * WIDTH + x];
                    // Half of the luminance, without the hue.
                    *pixel = (*pixel & 0x0F) >> 1;
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

    /// Reads collision register 0 to 7 at CPU cycle `now`.
    pub(super) fn read(&mut self, register: u16, now: u32) -> u8 {
        self.draw((now as i32).wrapping_mul(CYCLE));
        self.collisions[usize::from(register)]
    }

    /// Returns the palette byte of a colour register.
    fn colour(&self, register: u16) -> u8 {
        self.byte(register) & 0xFE | self.parity
    }

    fn is_blanked(&self) -> bool {
        self.byte(VBLANK) & D1 != 0
    }

    /// Returns true if the halves of the playfield have the colours of the players.
    fn has_score_colours(&self) -> bool {
        self.byte(CTRLPF) & CTRLPF_SCORE != 0
    }

    fn nusiz(&self, player: usize) -> u8 {
        self.byte(NUSIZ0 + player as u16)
    }

    /// Returns the value of a register.
    fn byte(&self, register: u16) -> u8 {
        self.registers[usize::from(register)]
    }
}
