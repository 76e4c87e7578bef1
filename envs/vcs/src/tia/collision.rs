//! The fifteen collision latches.

use super::mask::Mask;

/// The objects in the order of [`Objects`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Object {
    P0,
    P1,
    M0,
    M1,
    Bl,
    Pf,
}

/// A mask for each object.
pub(super) type Objects = [Mask; 6];

/// The pairs by latch. Latch `2 * r + 1` is bit 7 of register CXM0P + r, latch `2 * r` its bit 6.
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

/// The pixels where two objects or more meet.
#[inline]
pub(super) fn overlap(objects: &Objects) -> Mask {
    let (mut once, mut twice) = (Mask::EMPTY, Mask::EMPTY);
    for &object in objects {
        twice |= once & object;
        once |= object;
    }
    twice
}

/// The latches that the objects set where they meet within `place`.
pub(super) fn latches(objects: &Objects, place: Mask) -> u16 {
    let met = |object: Object| objects[object as usize] & place;
    PAIRS
        .iter()
        .filter(|&&(_, first, second)| met(first).intersects(objects[second as usize]))
        .fold(0, |latches, &(latch, ..)| latches | 1 << latch)
}

/// Bits 7 and 6 of collision register `register` (0 to 7).
pub(super) fn register(latches: u16, register: u16) -> u8 {
    ((latches >> (2 * register)) as u8 & 3) << 6
}
