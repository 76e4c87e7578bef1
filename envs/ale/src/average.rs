//! The average of two frames in the colours of the palette, as ale-py shows it with `color_averaging`.
//!
//! The rule was found by experiment: a program that shows all pairs of colours in successive frames gave the whole
//! table for NTSC and for PAL.

use std::sync::LazyLock;

use vcs::TvFormat;

use crate::Palette;

/// The average's distance from the darker value of a channel, in percent of that of the brighter value. A phosphor
/// glows on for a frame.
const PERCENT: u32 = 77;
/// The two lowest bits of a channel's average are dropped.
const PRECISION: u32 = !3;
/// The number of colours, one for each even byte.
const COLOURS: usize = 128;

/// The averages of all pairs of colours of one television system.
pub(crate) struct Averages([[u8; COLOURS]; COLOURS]);

impl Averages {
    /// Returns the averages of a television system.
    pub(crate) fn for_tv(tv: TvFormat) -> &'static Self {
        static NTSC: LazyLock<Averages> = LazyLock::new(|| Averages::new(Palette::of(TvFormat::Ntsc)));
        static PAL: LazyLock<Averages> = LazyLock::new(|| Averages::new(Palette::of(TvFormat::Pal)));
        static SECAM: LazyLock<Averages> = LazyLock::new(|| Averages::new(Palette::of(TvFormat::Secam)));
        match tv {
            TvFormat::Ntsc => &NTSC,
            TvFormat::Pal => &PAL,
            TvFormat::Secam => &SECAM,
        }
    }

    fn new(palette: &Palette) -> Self {
        let colours: Vec<[u8; 3]> = palette.rgb.iter().step_by(2).copied().collect();
        let mut table = [[0; COLOURS]; COLOURS];
        for (row, &first) in table.iter_mut().zip(&colours) {
            for (byte, &second) in row.iter_mut().zip(&colours) {
                *byte = 2 * nearest(&colours, average(first, second));
            }
        }
        Self(table)
    }

    /// Writes the average of two screens. Odd bytes, those of PAL's frames without colour, have no averages and become
    /// 0, as in a new process of ale-py, which does not set these values.
    pub(crate) fn write(&self, previous: &[u8], last: &[u8], averaged: &mut Vec<u8>) {
        averaged.clear();
        averaged.extend(previous.iter().zip(last).map(|(&first, &second)| self.average(first, second)));
    }

    /// Returns the average of two screen bytes.
    #[inline]
    fn average(&self, first: u8, second: u8) -> u8 {
        let is_odd = (first | second) & 1 != 0;
        if is_odd { 0 } else { self.0[usize::from(first / 2)][usize::from(second / 2)] }
    }
}

/// Returns the average of two colours.
fn average(first: [u8; 3], second: [u8; 3]) -> [u8; 3] {
    std::array::from_fn(|channel| {
        let (low, high) = (first[channel].min(second[channel]), first[channel].max(second[channel]));
        let step = u32::from(high - low) * PERCENT / 100;
        ((u32::from(low) + step) & PRECISION) as u8
    })
}

/// Returns the index of the first of the colours with the smallest sum of differences.
fn nearest(colours: &[[u8; 3]], colour: [u8; 3]) -> u8 {
    let nearest = colours.iter().enumerate().min_by_key(|(_, other)| distance(colour, **other));
    nearest.map_or(0, |(index, _)| index as u8)
}

/// Returns the sum of the differences of two colours in each channel.
fn distance(first: [u8; 3], second: [u8; 3]) -> u32 {
    first.iter().zip(second).map(|(&first, second)| u32::from(first.abs_diff(second))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The checksums are those of the averages of ale-py 0.12.1 of all pairs, recorded with a program that shows them.
    #[test]
    fn averages_of_all_pairs_of_colours_equal_those_of_ale_py() {
        for (tv, checksum) in [(TvFormat::Ntsc, 0x7ff9_ab70), (TvFormat::Pal, 0xd915_aa0f)] {
            let bytes = Averages::for_tv(tv).0.as_flattened();
            assert_eq!(crc32fast::hash(bytes), checksum, "{tv:?}");
        }
    }

    #[test]
    fn frames_without_colour_have_no_averages() {
        let mut averaged = vec![9; 5];
        Averages::for_tv(TvFormat::Pal).write(&[0x0e, 0x0f, 0x0e], &[0x0e, 0x0f, 0x0f], &mut averaged);
        assert_eq!(averaged, [0x0e, 0, 0]);
    }
}
