//! The pixels that the objects cover.

use super::super::registers::{
    CTRLPF, ENABL, ENAM0, ENAM1, GRP0, PF0, PF1, PF2, REFP0, RESMP0, RESMP1, VDELBL, VDELP0,
};
use super::{BL, Dots, M0, M1, P0, P1, PF, StarWidth, copies};

impl Dots {
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
            M0 => self.byte(ENAM0) & 2 != 0 && self.byte(RESMP0) & 2 == 0,
            M1 => self.byte(ENAM1) & 2 != 0 && self.byte(RESMP1) & 2 == 0,
            BL if self.byte(VDELBL) & 1 != 0 => self.old_enabl & 2 != 0,
            BL => self.byte(ENABL) & 2 != 0,
            _ => self.byte(PF0) & 0xF0 != 0 || self.byte(PF1) != 0 || self.byte(PF2) != 0,
        }
    }

    /// Returns true if a copy of the object, solid and switched on, would cover pixel `x`.
    pub(super) fn covers(&self, object: usize, x: usize) -> bool {
        let pixels = |offset: i32| (x as i32 - self.positions[object] - offset).rem_euclid(160);
        match object {
            P0 | P1 => self.player_bit(object, x).is_some(),
            M0 | M1 => {
                let nusiz = self.nusiz(object - M0);
                let mut size = nusiz >> 4 & 3;
                match self.star_width {
                    StarWidth::AtLeastTwo if object == M0 => size |= 1,
                    StarWidth::Zero if object == M0 => return false,
                    _ => {}
                }
                copies(nusiz).iter().any(|&offset| pixels(offset) < 1 << size)
            }
            _ => pixels(0) < 1 << (self.byte(CTRLPF) >> 4 & 3),
        }
    }

    fn player(&self, player: usize, x: usize) -> bool {
        self.player_bit(player, x).is_some_and(|bit| self.graphics(player) >> bit & 1 != 0)
    }

    /// Returns the index of the bit of a player's graphics at pixel `x`.
    fn player_bit(&self, player: usize, x: usize) -> Option<i32> {
        let nusiz = self.nusiz(player);
        let reflected = self.byte(REFP0 + player as u16) & 8 != 0;
        for &offset in copies(nusiz) {
            if offset == 0 && self.first_copy_suppressed[player] {
                continue;
            }
            let d = (x as i32 - self.positions[player] - offset).rem_euclid(160);
            let from_left = match nusiz & 7 {
                5 => (d + 1) / 2 - 1,
                7 => (d + 3) / 4 - 1,
                _ => d,
            };
            if (0..8).contains(&from_left) {
                return Some(if reflected { from_left } else { 7 - from_left });
            }
        }
        None
    }

    pub(super) fn playfield(&self, x: usize) -> bool {
        let cell = match x / 4 {
            cell @ 0..20 => cell,
            cell if self.mirrored => 39 - cell,
            cell => cell - 20,
        };
        let bit = match cell {
            0..4 => self.byte(PF0) >> (4 + cell),
            4..12 => self.byte(PF1) >> (11 - cell),
            _ => self.byte(PF2) >> (cell - 12),
        };
        bit & 1 != 0
    }

    fn graphics(&self, player: usize) -> u8 {
        if self.byte(VDELP0 + player as u16) & 1 != 0 {
            self.old_graphics[player]
        } else {
            self.byte(GRP0 + player as u16)
        }
    }
}
