use std::ops::{BitAnd, BitAndAssign, BitOr, BitOrAssign, Not};

/// Pixels in a scanline.
pub(crate) const WIDTH: usize = 160;

/// A set of the 160 pixels of a scanline; bit `x` is pixel `x`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Mask([u64; 3]);

/// For each `x` the pixels left of it.
static BELOW: [Mask; WIDTH + 1] = {
    let mut table = [Mask::EMPTY; WIDTH + 1];
    let mut x = 0;
    while x < WIDTH {
        table[x + 1] = table[x];
        table[x + 1].0[x / 64] |= 1 << (x % 64);
        x += 1;
    }
    table
};

/// The bits of the last word that are pixels.
const LAST: u64 = 0xFFFF_FFFF;

impl Mask {
    pub(super) const EMPTY: Self = Self([0; 3]);

    /// The pixels `start..end`.
    #[inline]
    pub(super) fn span(start: usize, end: usize) -> Self {
        BELOW[end] & !BELOW[start]
    }

    /// A pattern of up to 97 pixels, its bit 0 at pixel `x` (0..160), wrapping at the line's end.
    #[inline]
    pub(super) fn placed(pattern: u128, x: usize) -> Self {
        let (word, shift) = (x / 64, x % 64);
        let low = pattern << shift;
        // What the shift has pushed out; two steps, since a shift by 128 is none.
        let high = (pattern >> 1 >> (127 - shift)) as u64;
        let mut words = [0; 5];
        words[word] = low as u64;
        words[word + 1] = (low >> 64) as u64;
        words[word + 2] = high;
        // Pixels from 160 on come back in at 0.
        let around = |word: usize| words[word] >> 32 | words[word + 1] << 32;
        Self([words[0] | around(2), words[1] | around(3), words[2] & LAST])
    }

    /// 80 pixels of the left half and 80 of the right one.
    pub(super) fn halves(left: u128, right: u128) -> Self {
        Self([left as u64, (left >> 64 | right << 16) as u64, (right >> 48) as u64 & LAST])
    }

    #[inline]
    pub(super) fn is_empty(self) -> bool {
        self.0[0] | self.0[1] | self.0[2] == 0
    }

    #[inline]
    pub(super) fn intersects(self, other: Self) -> bool {
        !(self & other).is_empty()
    }

    /// Pixels 0 to 63, 64 to 127 and 128 to 159, the first in bit 0.
    #[inline]
    pub(super) fn words(&self) -> &[u64; 3] {
        &self.0
    }

    /// The pixels `8 * group..8 * group + 8`, the first in bit 0.
    #[cfg(test)]
    pub(super) fn group(self, group: usize) -> u8 {
        (self.0[group / 8] >> (group % 8 * 8)) as u8
    }
}

impl BitAnd for Mask {
    type Output = Self;
    #[inline]
    fn bitand(self, other: Self) -> Self {
        Self([self.0[0] & other.0[0], self.0[1] & other.0[1], self.0[2] & other.0[2]])
    }
}

impl BitOr for Mask {
    type Output = Self;
    #[inline]
    fn bitor(self, other: Self) -> Self {
        Self([self.0[0] | other.0[0], self.0[1] | other.0[1], self.0[2] | other.0[2]])
    }
}

impl BitAndAssign for Mask {
    #[inline]
    fn bitand_assign(&mut self, other: Self) {
        *self = *self & other;
    }
}

impl BitOrAssign for Mask {
    #[inline]
    fn bitor_assign(&mut self, other: Self) {
        *self = *self | other;
    }
}

impl Not for Mask {
    type Output = Self;
    #[inline]
    fn not(self) -> Self {
        Self([!self.0[0], !self.0[1], !self.0[2] & LAST])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pixels(mask: Mask) -> Vec<usize> {
        (0..WIDTH).filter(|&x| mask.group(x / 8) >> (x % 8) & 1 == 1).collect()
    }

    #[test]
    fn spans_hold_exactly_their_pixels() {
        for (start, end) in [(0, 160), (0, 1), (63, 65), (64, 128), (127, 129), (150, 160), (40, 40)] {
            assert_eq!(pixels(Mask::span(start, end)), (start..end).collect::<Vec<_>>(), "{start}..{end}");
        }
    }

    #[test]
    fn patterns_wrap_at_the_end_of_the_line() {
        for x in 0..WIDTH {
            let mut expected = vec![x, (x + 1) % WIDTH, (x + 32) % WIDTH, (x + 96) % WIDTH];
            expected.sort_unstable();
            assert_eq!(pixels(Mask::placed(1 | 1 << 1 | 1 << 32 | 1 << 96, x)), expected, "at {x}");
        }
    }

    #[test]
    fn halves_stand_side_by_side() {
        let mask = Mask::halves(1 | 1 << 79, 1 | 1 << 79);
        assert_eq!(pixels(mask), [0, 79, 80, 159]);
    }
}
