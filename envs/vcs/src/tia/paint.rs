//! Painting: conversion of masks to palette bytes.

use super::mask::{Mask, WIDTH};

/// The objects of a line from back to front, with their colours.
pub(super) type Layers = [(Mask, u8); 4];

/// Paints the pixels `start..end` of a line: the background first, then one layer after the other.
#[inline]
pub(super) fn paint(line: &mut [u8; WIDTH], start: usize, end: usize, background: u8, layers: &Layers) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx512bw") {
        // SAFETY: the processor has the instructions.
        #[allow(unsafe_code)]
        return unsafe { avx512::paint(line, start, end, background, layers) };
    }
    plain::paint(line, start, end, background, layers);
}

/// Paints 64 pixels at a time, on processors with masked vector stores.
#[cfg(target_arch = "x86_64")]
mod avx512 {
    use std::arch::x86_64::{_mm512_mask_blend_epi8, _mm512_mask_storeu_epi8, _mm512_set1_epi8};

    use super::{Layers, Mask, WIDTH};

    #[target_feature(enable = "avx512bw")]
    pub(super) fn paint(line: &mut [u8; WIDTH], start: usize, end: usize, background: u8, layers: &Layers) {
        let span = Mask::span(start, end).words();
        let masks = layers.map(|(mask, _)| mask.words());
        let colours = layers.map(|(_, colour)| _mm512_set1_epi8(colour as i8));
        let background = _mm512_set1_epi8(background as i8);
        for (word, (span, pixels)) in span.into_iter().zip(line.chunks_mut(64)).enumerate() {
            if span == 0 {
                continue;
            }
            let mut painted = background;
            for (mask, colour) in masks.iter().zip(colours) {
                painted = _mm512_mask_blend_epi8(mask[word], painted, colour);
            }
            // SAFETY: a mask has bits only for pixels of the line, and only those are stored.
            #[allow(unsafe_code)]
            unsafe {
                _mm512_mask_storeu_epi8(pixels.as_mut_ptr().cast(), span, painted);
            }
        }
    }
}

/// Paints eight pixels at a time, on all other processors.
mod plain {
    use super::{Layers, Mask, WIDTH};
    use crate::tia::stretch;

    pub(super) fn paint(line: &mut [u8; WIDTH], start: usize, end: usize, background: u8, layers: &Layers) {
        let span = Mask::span(start, end);
        line[start..end].fill(background);
        for &(mask, colour) in layers {
            let mask = mask & span;
            for (word, bits) in mask.words().into_iter().enumerate() {
                if bits != 0 {
                    paint_word(&mut line[64 * word..], bits, colour);
                }
            }
        }
    }

    fn splat(colour: u8) -> u64 {
        u64::from(colour) * 0x0101_0101_0101_0101
    }

    /// Paints the pixels whose bits are set, in groups of eight from the first to the last set bit.
    #[inline]
    fn paint_word(pixels: &mut [u8], bits: u64, colour: u8) {
        let colour = splat(colour);
        let (first, last) = (bits.trailing_zeros() / 8, bits.ilog2() / 8);
        for group in first as usize..=last as usize {
            let cover = stretch::EIGHT_TIMES[usize::from((bits >> (8 * group)) as u8)];
            let target: &mut [u8; 8] =
                (&mut pixels[8 * group..8 * group + 8]).try_into().expect("the slice has eight pixels");
            *target = (u64::from_le_bytes(*target) & !cover | colour & cover).to_le_bytes();
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::StdRng;
    use rand::{Rng, SeedableRng};

    use super::*;

    fn paint_by_pixel(line: &mut [u8; WIDTH], start: usize, end: usize, background: u8, layers: &Layers) {
        for (x, pixel) in line.iter_mut().enumerate().take(end).skip(start) {
            let covers = |mask: &Mask| mask.group(x / 8) >> (x % 8) & 1 == 1;
            *pixel =
                layers.iter().rev().find(|(mask, _)| covers(mask)).map_or(background, |&(_, colour)| colour);
        }
    }

    #[test]
    fn all_painters_give_the_same_pixels() {
        let seed = rand::random();
        println!("seed {seed}");
        let mut random = StdRng::seed_from_u64(seed);
        for _ in 0..10_000 {
            let (from, to) = (random.random_range(0..=WIDTH), random.random_range(0..=WIDTH));
            let (start, end) = (from.min(to), from.max(to));
            let layers: Layers = std::array::from_fn(|_| {
                let pattern = u128::from(random.random::<u64>()) & u128::from(random.random::<u64>());
                (Mask::placed(pattern, random.random_range(0..WIDTH)), random.random())
            });
            let background = random.random();
            let line: [u8; WIDTH] = std::array::from_fn(|_| random.random());
            let [mut expected, mut painted, mut painted_plainly] = [line; 3];
            paint_by_pixel(&mut expected, start, end, background, &layers);
            paint(&mut painted, start, end, background, &layers);
            plain::paint(&mut painted_plainly, start, end, background, &layers);
            assert_eq!(painted, expected, "{start}..{end}");
            assert_eq!(painted_plainly, expected, "plain, {start}..{end}");
        }
    }
}
