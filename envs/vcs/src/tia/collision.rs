//! The fifteen collision latches.

use super::mask::Mask;

/// The objects, in the order of [`Objects`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Object {
    P0,
    P1,
    M0,
    M1,
    Bl,
    Pf,
}

impl Object {
    /// In the order of [`Objects`].
    pub(super) const ALL: [Self; 6] = [Self::P0, Self::P1, Self::M0, Self::M1, Self::Bl, Self::Pf];

    /// Returns the object's bit in a set.
    #[inline]
    pub(super) const fn bit(self) -> u8 {
        // A table, not a shift: compilers test a shifted bit in a whole word, and loading a word right after storing
        // one of its bytes stalls the processor.
        static BITS: [u8; 6] = [1, 2, 4, 8, 16, 32];
        BITS[self as usize]
    }
}

/// The players and missiles by their indices.
pub(super) const PLAYERS: [Object; 2] = [Object::P0, Object::P1];
pub(super) const MISSILES: [Object; 2] = [Object::M0, Object::M1];

/// A mask for each object.
pub(super) type Objects = [Mask; 6];

/// The pairs of objects by latch. Latch `2 * r + 1` is bit 7 of register CXM0P + r, latch `2 * r` is its bit
/// 6.
const PAIRS: [(u8, Object, Object); 15] = {
    use Object::{Bl, M0, M1, P0, P1, Pf};
    [
        (1, M0, P1),
        (0, M0, P0),
        (3, M1, P0),
        (2, M1, P1),
        (5, P0, Pf),
        (4, P0, Bl),
        (7, P1, Pf),
        (6, P1, Bl),
        (9, M0, Pf),
        (8, M0, Bl),
        (11, M1, Pf),
        (10, M1, Bl),
        (13, Bl, Pf),
        (15, P0, P1),
        (14, M0, M1),
    ]
};

/// All latches.
pub(crate) const ALL: u16 = {
    let mut latches = 0;
    let mut pair = 0;
    while pair < PAIRS.len() {
        latches |= 1 << PAIRS[pair].0;
        pair += 1;
    }
    latches
};

/// The latches of each object.
pub(super) const BY_OBJECT: [u16; 6] = {
    let mut table = [0; 6];
    let mut pair = 0;
    while pair < PAIRS.len() {
        let (latch, first, second) = PAIRS[pair];
        table[first as usize] |= 1 << latch;
        table[second as usize] |= 1 << latch;
        pair += 1;
    }
    table
};

/// Returns the latches that active objects, one bit each, could set.
#[inline]
pub(super) fn possible(active: u8) -> u16 {
    POSSIBLE[usize::from(active)]
}

static POSSIBLE: [u16; 64] = {
    let mut table = [0; 64];
    let mut active = 0;
    while active < 64 {
        let mut pair = 0;
        while pair < PAIRS.len() {
            let (latch, first, second) = PAIRS[pair];
            if active >> first as u8 & active >> second as u8 & 1 == 1 {
                table[active] |= 1 << latch;
            }
            pair += 1;
        }
        active += 1;
    }
    table
};

/// Returns the latches among `missing` that objects with these pixels set within `span`.
#[inline]
pub(super) fn latches(pixels: impl Fn(Object) -> Mask, span: Mask, missing: u16) -> u16 {
    pairs(missing)
        .filter(|&(_, first, second)| (pixels(first) & span).intersects(pixels(second)))
        .fold(0, |latches, (latch, ..)| latches | latch)
}

/// Returns the latches in a set, each as its bit, with the objects that set it.
#[inline]
pub(super) fn pairs(mut latches: u16) -> impl Iterator<Item = (u16, Object, Object)> {
    std::iter::from_fn(move || {
        let latch = latches.trailing_zeros();
        let &(first, second) = BY_LATCH.get(latch as usize)?;
        latches &= latches - 1;
        Some((1 << latch, first, second))
    })
}

/// The pair of each latch. Latch 12 does not exist and is never missing.
const BY_LATCH: [(Object, Object); 16] = {
    let mut table = [(Object::P0, Object::P0); 16];
    let mut pair = 0;
    while pair < PAIRS.len() {
        let (latch, first, second) = PAIRS[pair];
        table[latch as usize] = (first, second);
        pair += 1;
    }
    table
};

/// Returns the latches of collision register `register` (0 to 7).
pub(super) fn latches_of(register: u16) -> u16 {
    (3 << (2 * register)) & ALL
}

/// Returns bits 7 and 6 of collision register `register` (0 to 7).
pub(super) fn register(latches: u16, register: u16) -> u8 {
    ((latches >> (2 * register)) as u8 & 3) << 6
}
