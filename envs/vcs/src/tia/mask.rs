use std::ops::{BitAnd, BitOr, BitOrAssign, Not};

/// Pixels in a scanline.
pub(crate) const WIDTH: usize = 160;

/// A set of the 160 pixels of a scanline. Bit `x` of the two fields in sequence is pixel `x`.
// Not three words of 64 bits: the compiler would load two of them as one vector, which stalls after narrower stores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Mask {
    low: u128,
    high: u32,
}

/// For each `x` the pixels to the left of it.
static BELOW: [Mask; WIDTH + 1] = {
    let mut table = [Mask::EMPTY; WIDTH + 1];
    let mut x = 0;
    while x < WIDTH {
        table[x + 1] = table[x];
        if x < LOW {
            table[x + 1].low |= 1 << x;
        } else {
            table[x + 1].high |= 1 << (x - LOW);
        }
        x += 1;
    }
    table
};

/// Number of pixels in the low part.
const LOW: usize = 128;

impl Mask {
    pub(super) const EMPTY: Self = Self { low: 0, high: 0 };

    /// Returns the pixels `start..end`.
    #[inline]
    pub(super) fn span(start: usize, end: usize) -> Self {
        BELOW[end] & !BELOW[start]
    }

    /// Returns a pattern of up to 97 pixels with its bit 0 at pixel `x` (0..160), wrapped around the line.
    #[inline]
    pub(super) fn placed(pattern: u128, x: usize) -> Self {
        if let Some(x) = x.checked_sub(LOW) {
            let pattern = pattern << x;
            return Self { low: pattern >> 32, high: pattern as u32 };
        }
        // The bits that the shift loses. Two steps, because a shift by 128 bits would overflow.
        let beyond = pattern >> 1 >> (LOW - 1 - x);
        Self { low: pattern << x | beyond >> 32, high: beyond as u32 }
    }

    /// Combines 80 pixels of the left half and 80 of the right half.
    #[inline]
    pub(super) fn halves(left: u128, right: u128) -> Self {
        Self { low: left | right << 80, high: (right >> (LOW - 80)) as u32 }
    }

    #[inline]
    pub(super) fn is_empty(self) -> bool {
        self.low | u128::from(self.high) == 0
    }

    #[inline]
    pub(super) fn intersects(self, other: Self) -> bool {
        !(self & other).is_empty()
    }

    /// Pixels 0 to 63, 64 to 127 and 128 to 159, the first in bit 0.
    #[inline]
    pub(super) fn words(self) -> [u64; 3] {
        [self.low as u64, (self.low >> 64) as u64, self.high.into()]
    }

    /// The pixels `8 * group..8 * group + 8`, the first in bit 0.
    #[cfg(test)]
    pub(super) fn group(self, group: usize) -> u8 {
        (self.words()[group / 8] >> (group % 8 * 8)) as u8
    }
}

impl BitAnd for Mask {
    type Output = Self;
    #[inline]
    fn bitand(self, other: Self) -> Self {
        Self { low: self.low & other.low, high: self.high & other.high }
    }
}

impl BitOr for Mask {
    type Output = Self;
    #[inline]
    fn bitor(self, other: Self) -> Self {
        Self { low: self.low | other.low, high: self.high | other.high }
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
        Self { low: !self.low, high: !self.high }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pixels(mask: Mask) -> Vec<usize> {
        (0..WIDTH).filter(|&x| mask.group(x / 8) >> (x % 8) & 1 == 1).collect()
    }

    #[test]
    fn spans_contain_exactly_their_pixels() {
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
    fn halves_are_placed_side_by_side() {
        let mask = Mask::halves(1 | 1 << 79, 1 | 1 << 79);
        assert_eq!(pixels(mask), [0, 79, 80, 159]);
    }
}
