//! From masks to pixels: eight at a time.

use super::mask::{Mask, WIDTH};

/// A byte of 0xFF for each set bit, the lowest bit in the first byte.
static SPREAD: [u64; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut bit = 0;
        while bit < 8 {
            if byte >> bit & 1 == 1 {
                table[byte] |= 0xFF << (8 * bit);
            }
            bit += 1;
        }
        byte += 1;
    }
    table
};

fn splat(colour: u8) -> u64 {
    u64::from(colour) * 0x0101_0101_0101_0101
}

/// Paints the pixels `start..end` of a line: the background, then layer upon layer.
#[inline]
pub(super) fn paint(
    line: &mut [u8; WIDTH],
    start: usize,
    end: usize,
    background: u8,
    layers: &[(Mask, u8); 4],
) {
    let span = Mask::span(start, end);
    let covered = layers.iter().fold(Mask::EMPTY, |all, &(mask, _)| all | mask);
    if !covered.intersects(span) {
        line[start..end].fill(background);
        return;
    }
    for group in start / 8..end.div_ceil(8) {
        let mut pixels = splat(background);
        if covered.group(group) != 0 {
            for &(mask, colour) in layers {
                let cover = SPREAD[usize::from(mask.group(group))];
                pixels = pixels & !cover | splat(colour) & cover;
            }
        }
        let target: &mut [u8; 8] = (&mut line[8 * group..8 * group + 8]).try_into().expect("eight pixels");
        let keep = !SPREAD[usize::from(span.group(group))];
        *target = (pixels & !keep | u64::from_le_bytes(*target) & keep).to_le_bytes();
    }
}
