//! The movable objects: two players, two missiles and the ball.

use serde::{Deserialize, Serialize};

use super::mask::{Mask, WIDTH};
use super::stretch;

/// Offsets of an object's copies by the low three bits of NUSIZ.
pub(super) const COPIES: [&[u8]; 8] =
    [&[0], &[0, 16], &[0, 32], &[0, 16, 32], &[0, 64], &[0], &[0, 32, 64], &[0]];

/// Pixels from a player's position that one of its copies occupies, by the low three bits of NUSIZ. The two
/// stretched forms begin one pixel late.
pub(super) const PLAYER_WIDTH: [u8; 8] = [8, 8, 8, 8, 8, 16, 8, 32];

/// Pixels from a player's position to the end of its last copy, by the low three bits of NUSIZ.
const EXTENT: [u8; 8] = {
    let mut extent = [0; 8];
    let mut nusiz = 0;
    while nusiz < 8 {
        let copies = COPIES[nusiz];
        // The stretched forms begin one pixel late.
        let late = if PLAYER_WIDTH[nusiz] > 8 { 1 } else { 0 };
        extent[nusiz] = copies[copies.len() - 1] + late + PLAYER_WIDTH[nusiz];
        nusiz += 1;
    }
    extent
};

/// Returns `to - from` modulo the line.
pub(super) fn distance(from: u8, to: i32) -> i32 {
    (to - i32::from(from)).rem_euclid(WIDTH as i32)
}

/// Returns `position + offset` modulo the line. The offset must be smaller than a line.
#[inline]
pub(super) fn moved(position: u8, offset: i32) -> u8 {
    let moved = i32::from(position) + offset;
    let width = WIDTH as i32;
    (moved + if moved < 0 { width } else { 0 } - if moved >= width { width } else { 0 }) as u8
}

/// The offsets of the copies as a bit set, by the low three bits of NUSIZ. The product with a pattern
/// contains the copies, since they are at least as far apart as they are wide.
const REPEATED: [u128; 8] = {
    let mut offsets = [0; 8];
    let mut nusiz = 0;
    while nusiz < 8 {
        let mut copy = 0;
        while copy < COPIES[nusiz].len() {
            offsets[nusiz] |= 1 << COPIES[nusiz][copy];
            copy += 1;
        }
        nusiz += 1;
    }
    offsets
};

/// Places the pattern at all offsets in the bit set.
#[inline]
fn copies(pattern: u64, position: u8, offsets: u128) -> Mask {
    // Split at bit 64: the product of a pattern with either half fits 128 bits.
    let low = u128::from(pattern) * (offsets as u64 as u128);
    let high = (u128::from(pattern) * (offsets >> 64)) << 64;
    Mask::placed(low + high, position.into())
}

/// A player.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Player {
    pub(super) position: u8,
    /// GRPx, and its old value, which is copied from it when the other player's GRP is written.
    pub(super) graphics: u8,
    pub(super) graphics_old: u8,
    /// VDELPx: show the old value.
    pub(super) delayed: bool,
    /// REFPx: the lowest bit comes first.
    pub(super) reflected: bool,
    /// The low three bits of NUSIZx.
    pub(super) copies: u8,
    /// True if the first copy is hidden until the end of the line, because RESPx was written while it was shown.
    pub(super) first_suppressed: bool,
    /// HMPx, 0 to 15.
    pub(super) motion: u8,
}

impl Player {
    pub(super) fn shown(&self) -> u8 {
        if self.delayed { self.graphics_old } else { self.graphics }
    }

    pub(super) fn mask(&self) -> Mask {
        let shown = self.shown();
        if shown == 0 {
            return Mask::EMPTY;
        }
        let bits = if self.reflected { shown } else { shown.reverse_bits() };
        let pattern = match self.copies {
            5 => stretch::TWICE[usize::from(bits)] << 1,
            7 => stretch::FOUR_TIMES[usize::from(bits)] << 1,
            _ => bits.into(),
        };
        copies(pattern, self.position, self.shown_copies())
    }

    /// Returns true if the player cannot cover pixels to the left of `x`, whatever its graphics.
    #[inline]
    pub(super) fn begins_at_or_after(&self, x: usize) -> bool {
        let position = usize::from(self.position);
        position >= x && position + usize::from(EXTENT[usize::from(self.copies)]) <= WIDTH
    }

    /// Returns all pixels that the player could cover with any graphics.
    pub(super) fn area(&self) -> Mask {
        let pattern = match self.copies {
            5 => 0xFFFF << 1,
            7 => 0xFFFF_FFFF << 1,
            _ => 0xFF,
        };
        copies(pattern, self.position, self.shown_copies())
    }

    /// Returns the offsets of the copies that are not hidden, as a bit set.
    fn shown_copies(&self) -> u128 {
        REPEATED[usize::from(self.copies)] & !u128::from(self.first_suppressed)
    }
}

/// The shape of missile 0 in a line of the Cosmic Ark effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum MissileShape {
    #[default]
    Normal,
    /// At least two pixels wide.
    Widened,
    Invisible,
}

/// A missile.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Missile {
    pub(super) position: u8,
    /// ENAMx.
    pub(super) enabled: bool,
    /// RESMPx: hidden inside the player.
    pub(super) locked: bool,
    /// The low three bits of NUSIZx.
    pub(super) copies: u8,
    /// Bits 4 and 5 of NUSIZx: the logarithm of the width.
    pub(super) size: u8,
    pub(super) shape: MissileShape,
    /// HMMx, 0 to 15.
    pub(super) motion: u8,
}

impl Missile {
    pub(super) fn active(&self) -> bool {
        self.enabled && !self.locked
    }

    pub(super) fn mask(&self) -> Mask {
        if self.active() { self.area() } else { Mask::EMPTY }
    }

    /// Returns all pixels that the missile could cover if it were enabled.
    pub(super) fn area(&self) -> Mask {
        let size = match self.shape {
            MissileShape::Normal => self.size,
            MissileShape::Widened => self.size | 1,
            MissileShape::Invisible => return Mask::EMPTY,
        };
        copies(run(size), self.position, REPEATED[usize::from(self.copies)])
    }
}

/// The ball.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Ball {
    pub(super) position: u8,
    /// ENABL, and its old value, which is copied from it when GRP1 is written.
    pub(super) enabled: bool,
    pub(super) enabled_old: bool,
    /// VDELBL: use the old value.
    pub(super) delayed: bool,
    /// Bits 4 and 5 of CTRLPF: the logarithm of the width.
    pub(super) size: u8,
    /// HMBL, 0 to 15.
    pub(super) motion: u8,
}

impl Ball {
    pub(super) fn active(&self) -> bool {
        if self.delayed { self.enabled_old } else { self.enabled }
    }

    pub(super) fn mask(&self) -> Mask {
        if self.active() { self.area() } else { Mask::EMPTY }
    }

    /// Returns all pixels that the ball could cover if it were enabled.
    pub(super) fn area(&self) -> Mask {
        copies(run(self.size), self.position, 1)
    }
}

/// Returns a pattern of `1 << size` pixels.
fn run(size: u8) -> u64 {
    (1 << (1 << size)) - 1
}
