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
    let mut seen = [(Mask::EMPTY, 0); 4];
    let mut count = 0;
    for &(mask, colour) in layers {
        let mask = mask & span;
        if !mask.is_empty() {
            seen[count] = (mask, colour);
            count += 1;
        }
    }
    line[start..end].fill(background);
    for &(mask, colour) in &seen[..count] {
        for (word, &bits) in mask.words().iter().enumerate() {
            if bits != 0 {
                paint_word(&mut line[64 * word..], bits, colour);
            }
        }
    }
}

/// Gives the pixels whose bits are set the colour, eight at a time from the first to the last set one.
#[inline]
fn paint_word(pixels: &mut [u8], bits: u64, colour: u8) {
    let colour = splat(colour);
    let (first, last) = (bits.trailing_zeros() / 8, bits.ilog2() / 8);
    for group in first as usize..=last as usize {
        let cover = SPREAD[usize::from((bits >> (8 * group)) as u8)];
        let target: &mut [u8; 8] = (&mut pixels[8 * group..8 * group + 8]).try_into().expect("eight pixels");
        *target = (u64::from_le_bytes(*target) & !cover | colour & cover).to_le_bytes();
    }
}
