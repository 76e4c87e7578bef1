//! The pixels that the objects cover.

use super::super::WIDTH;
use super::super::registers::{
    CTRLPF, ENABL, ENAM0, ENAM1, GRP0, PF0, PF1, PF2, REFP0, RESMP0, RESMP1, VDELBL, VDELP0,
};
use super::{BL, CELL, D1, Dots, M0, M1, P0, P1, PF, StarWidth};

/// The only bit of VDELP0, VDELP1 and VDELBL.
const D0: u8 = 1 << 0;
/// The only bit of REFP0 and REFP1.
const D3: u8 = 1 << 3;
/// The bits of PF0 that have cells.
const PF0_BITS: u8 = 0xF0;

impl Dots {
    /// Returns true if the object covers pixel `x`.
    pub(super) fn is_on(&self, object: usize, x: usize) -> bool {
        match object {
            P0 | P1 => self.player(object, x),
            PF => self.playfield(x),
            _ => self.is_active(object) && self.covers(object, x),
        }
    }

    /// Returns true if the object is switched on.
    pub(super) fn is_active(&self, object: usize) -> bool {
        match object {
            P0 | P1 => self.graphics(object) != 0,
            M0 => self.byte(ENAM0) & D1 != 0 && self.byte(RESMP0) & D1 == 0,
            M1 => self.byte(ENAM1) & D1 != 0 && self.byte(RESMP1) & D1 == 0,
            BL if self.byte(VDELBL) & D0 != 0 => self.old_enabl & D1 != 0,
            BL => self.byte(ENABL) & D1 != 0,
            _ => self.byte(PF0) & PF0_BITS != 0 || self.byte(PF1) != 0 || self.byte(PF2) != 0,
        }
    }

    /// Returns true if a copy of the object, solid and switched on, would cover pixel `x`.
    pub(super) fn covers(&self, object: usize, x: usize) -> bool {
        let pixels_from_copy =
            |offset: i32| (x as i32 - self.positions[object] - offset).rem_euclid(WIDTH as i32);
        match object {
            P0 | P1 => self.player_bit(object, x).is_some(),
            M0 | M1 => {
                let nusiz = self.nusiz(object - M0);
                let mut size = size_bits(nusiz);
                match self.star_width {
                    StarWidth::AtLeastTwo if object == M0 => size |= 1,
                    StarWidth::Zero if object == M0 => return false,
                    _ => {}
                }
                copies(nusiz).iter().any(|&offset| pixels_from_copy(offset) < 1 << size)
            }
            _ => pixels_from_copy(0) < 1 << size_bits(self.byte(CTRLPF)),
        }
    }

    fn player(&self, player: usize, x: usize) -> bool {
        self.player_bit(player, x).is_some_and(|bit| self.graphics(player) >> bit & 1 != 0)
    }

    /// Returns the index of the bit of a player's graphics at pixel `x`.
    fn player_bit(&self, player: usize, x: usize) -> Option<i32> {
        let nusiz = self.nusiz(player);
        let reflected = self.byte(REFP0 + player as u16) & D3 != 0;
        for &offset in copies(nusiz) {
            if offset == 0 && self.first_copy_suppressed[player] {
                continue;
            }
            let pixels = (x as i32 - self.positions[player] - offset).rem_euclid(WIDTH as i32);
            // The two stretched forms begin one pixel late.
            let from_left = match player_width(nusiz) {
                16 => (pixels + 1) / 2 - 1,
                32 => (pixels + 3) / 4 - 1,
                _ => pixels,
            };
            if (0..8).contains(&from_left) {
                return Some(if reflected { from_left } else { 7 - from_left });
            }
        }
        None
    }

    /// Returns true if the playfield covers pixel `x`. It has 20 cells of four pixels, which it shows twice in a line.
    pub(super) fn playfield(&self, x: usize) -> bool {
        const CELLS: usize = 20;
        let cell = match x / CELL {
            left @ 0..CELLS => left,
            right if self.mirrored => 2 * CELLS - 1 - right,
            right => right - CELLS,
        };
        // PF0 has the first cell in bit 4, PF1 the next one in bit 7, PF2 the next one in bit 0.
        let bit = match cell {
            0..4 => self.byte(PF0) >> (4 + cell),
            4..12 => self.byte(PF1) >> (11 - cell),
            _ => self.byte(PF2) >> (cell - 12),
        };
        bit & 1 != 0
    }

    /// Returns the graphics that a player shows.
    fn graphics(&self, player: usize) -> u8 {
        if self.byte(VDELP0 + player as u16) & D0 != 0 {
            self.old_graphics[player]
        } else {
            self.byte(GRP0 + player as u16)
        }
    }
}

/// Returns the offsets of the copies that NUSIZ selects.
pub(super) fn copies(nusiz: u8) -> &'static [i32] {
    match nusiz & 7 {
        1 => &[0, 16],
        2 => &[0, 32],
        3 => &[0, 16, 32],
        4 => &[0, 64],
        6 => &[0, 32, 64],
        _ => &[0],
    }
}

/// Returns the logarithm of the width of a missile from NUSIZ, or of the ball from CTRLPF.
fn size_bits(register: u8) -> u8 {
    register >> 4 & 3
}

/// Returns the width of a copy of a player that NUSIZ selects.
pub(super) fn player_width(nusiz: u8) -> i32 {
    match nusiz & 7 {
        5 => 16,
        7 => 32,
        _ => 8,
    }
}
