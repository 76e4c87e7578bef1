use std::ops::Range;
use std::sync::Arc;

use super::axis::Axis;
use super::rows::Rows;
use crate::preprocess::avx2::Avx2;
use crate::preprocess::avx512::Avx512;
use crate::preprocess::gather::{Avx2Gather, Avx512Gather, Elements, MAX_LANES};
use crate::preprocess::scalar;

/// Weighted sums of the source pixels that a target pixel covers in part or in full.
///
/// Sums are computed in `f32`, first along the rows, then down the columns, in increasing order of the source, rounding
/// each product and each sum. A fused multiply-add or a wider type would change pixels.
#[derive(Clone, Debug)]
pub(super) struct Area {
    tables: Arc<Tables>,
    sums: RowSums,
}

/// The horizontal sums that one target row needs.
#[derive(Clone, Debug)]
struct RowSums {
    /// The source rows of one target row after the horizontal sums.
    rows: Box<[f32]>,
    /// Working memory of the scalar code: the elements of one source row, a run for each tap.
    gathered: Box<[f32]>,
    avx2: Option<Avx2>,
    avx512: Option<Avx512>,
}

#[derive(Debug)]
struct Tables {
    /// The number of elements (pixels times channels) of a target row.
    target_len: usize,
    /// The number of elements of a row of sums: those of a target row, padded with zeros to whole vectors.
    sums_len: usize,
    /// The indices of the source elements: the first one of every sum, then the second one, and so on.
    sources: Box<[usize]>,
    /// Their weights, 0 for the missing elements of sums with fewer elements than others.
    weights: Box<[f32]>,
    /// The same for AVX2 and AVX-512, unless the elements of a vector lie too far apart.
    avx2_gathers: Option<Box<[Avx2Gather]>>,
    avx512_gathers: Option<Box<[Avx512Gather]>>,
    /// The source rows and their weights for each target row.
    vertical: Box<[Taps]>,
}

/// The source elements that one target element covers.
#[derive(Debug)]
struct Taps {
    sources: Range<usize>,
    weights: Vec<f32>,
}

impl Taps {
    /// Returns the taps of target element `index`. Weights are computed in `f64` and rounded once.
    fn new(axis: &Axis, index: usize) -> Self {
        /// An edge closer than this to a pixel's border does not touch the pixel.
        const TOUCH: f64 = 1e-3;
        let last = axis.source - 1;
        let begin = index as f64 * axis.scale;
        let end = begin + axis.scale;
        let covered = axis.scale.min(axis.source as f64 - begin);
        let whole_end = (end.floor() as usize).min(last);
        let whole_begin = (begin.ceil() as usize).min(whole_end);
        let mut taps = Self { sources: whole_begin..whole_end, weights: Vec::new() };
        if whole_begin as f64 - begin > TOUCH {
            taps.sources.start -= 1;
            taps.weights.push(((whole_begin as f64 - begin) / covered) as f32);
        }
        taps.weights.extend((whole_begin..whole_end).map(|_| (1.0 / covered) as f32));
        let rest = end - whole_end as f64;
        if rest > TOUCH {
            taps.sources.end += 1;
            taps.weights.push((rest.min(1.0).min(covered) / covered) as f32);
        }
        taps
    }

    /// Returns the taps of every target pixel.
    fn along(axis: &Axis) -> Vec<Self> {
        (0..axis.target).map(|index| Self::new(axis, index)).collect()
    }
}

impl Tables {
    fn new(rows: &Axis, columns: &Axis, channels: usize) -> Self {
        let horizontal = Taps::along(columns);
        let (source_len, target_len) = (columns.source * channels, columns.target * channels);
        let sums_len = target_len.next_multiple_of(MAX_LANES);
        let max_taps = horizontal.iter().map(|taps| taps.weights.len()).max().unwrap_or(0);
        let mut sources = vec![0; max_taps * sums_len];
        let mut weights = vec![0.0; max_taps * sums_len];
        for sum in 0..target_len {
            let (taps, channel) = (&horizontal[sum / channels], sum % channels);
            for tap in 0..max_taps {
                let pixel = (taps.sources.start + tap).min(columns.source - 1);
                sources[tap * sums_len + sum] = pixel * channels + channel;
                weights[tap * sums_len + sum] = taps.weights.get(tap).copied().unwrap_or(0.0);
            }
        }
        let elements = Elements { sources: &sources, weights: &weights, sums: sums_len, source_len };
        Self {
            target_len,
            sums_len,
            avx2_gathers: Avx2Gather::plan_row(elements),
            avx512_gathers: Avx512Gather::plan_row(elements),
            sources: sources.into(),
            weights: weights.into(),
            vertical: Taps::along(rows).into(),
        }
    }
}

impl Area {
    pub(super) fn new(rows: &Axis, columns: &Axis, channels: usize) -> Self {
        let tables = Arc::new(Tables::new(rows, columns, channels));
        Self { sums: RowSums::new(&tables), tables }
    }

    pub(super) fn resize(&mut self, source: &mut impl Rows, previous: Option<&[u8]>, target: &mut [u8]) {
        let Self { tables, sums } = self;
        let mut produced = Produced::default();
        // The source row that was summed last, and the index of its sums.
        let mut newest = None;
        for (index, target) in target.chunks_exact_mut(tables.target_len).enumerate() {
            let taps = &tables.vertical[index];
            let unchanged = produced.all_unchanged(source, taps.sources.clone());
            if let Some(previous) = previous.filter(|_| unchanged) {
                target.copy_from_slice(&previous[index * tables.target_len..][..tables.target_len]);
                newest = None;
                continue;
            }
            for (index, row) in taps.sources.clone().enumerate() {
                match newest {
                    // Two target rows may share a source row, and a source row may equal the one above.
                    Some((made, from)) if made == row || made + 1 == row && produced.repeats(row) => {
                        if from != index {
                            sums.copy(tables, from, index);
                        }
                    }
                    _ => sums.sum_row(tables, source.pixels(row), index),
                }
                newest = Some((row, index));
            }
            sums.sum_columns(tables, &taps.weights, target);
        }
    }
}

/// The newest source rows that have been produced.
#[derive(Default)]
struct Produced {
    /// The number of rows produced so far.
    rows: usize,
    /// One bit for each of the newest 64 rows, the newest in bit 0: the row equals the one above.
    repeating: u64,
    /// The same bits for rows that are unchanged.
    unchanged: u64,
}

impl Produced {
    /// Produces the rows that have not been produced yet. Returns true if all of them are unchanged.
    fn all_unchanged(&mut self, source: &mut impl Rows, rows: Range<usize>) -> bool {
        while self.rows < rows.end {
            let row = source.produce(self.rows);
            self.repeating = self.repeating << 1 | u64::from(row.repeats);
            self.unchanged = self.unchanged << 1 | u64::from(row.unchanged);
            self.rows += 1;
        }
        // A target row of a tall image may cover more than 64 rows. It is then always computed.
        rows.len() < 64 && !self.unchanged & ((1 << rows.len()) - 1) == 0
    }

    /// Returns true if a row is known to equal the one above.
    fn repeats(&self, row: usize) -> bool {
        let age = self.rows - 1 - row;
        age < 64 && self.repeating >> age & 1 == 1
    }
}

impl RowSums {
    fn new(tables: &Tables) -> Self {
        let max_rows = tables.vertical.iter().map(|taps| taps.sources.len()).max().unwrap_or(0);
        let zeros = |len: usize| vec![0.0; len].into_boxed_slice();
        Self {
            rows: zeros(max_rows * tables.sums_len),
            gathered: zeros(tables.sources.len()),
            avx2: Avx2::detect(),
            avx512: Avx512::detect(),
        }
    }

    /// Computes the horizontal sums of a source row.
    fn sum_row(&mut self, tables: &Tables, pixels: &[u8], index: usize) {
        let row = &mut self.rows[index * tables.sums_len..][..tables.sums_len];
        if let (Some(avx512), Some(gathers)) = (self.avx512, &tables.avx512_gathers) {
            avx512.sum_row(gathers, pixels, row);
        } else if let (Some(avx2), Some(gathers)) = (self.avx2, &tables.avx2_gathers) {
            avx2.sum_row(gathers, pixels, row);
        } else {
            scalar::sum_row(&tables.sources, &tables.weights, pixels, &mut self.gathered, row);
        }
    }

    /// Copies the sums of a source row to another place.
    fn copy(&mut self, tables: &Tables, from: usize, to: usize) {
        let len = tables.sums_len;
        self.rows.copy_within(from * len..(from + 1) * len, to * len);
    }

    /// Computes a target row from the horizontal sums of its source rows.
    fn sum_columns(&self, tables: &Tables, weights: &[f32], target: &mut [u8]) {
        let rows = &self.rows[..weights.len() * tables.sums_len];
        match (self.avx512, self.avx2) {
            (Some(avx512), _) => avx512.sum_columns(rows, weights, target),
            (None, Some(avx2)) => avx2.sum_columns(rows, weights, target),
            (None, None) => scalar::sum_columns(rows, weights, target),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preprocess::resize::tests::Image;

    /// 160 columns to 84: a target pixel covers 1.904... source pixels.
    #[test]
    fn taps_cover_the_source_of_the_target_pixel() {
        let axis = Axis::new(160, 84);
        let taps = Taps::new(&axis, 0);
        assert_eq!(taps.sources, 0..2);
        assert_eq!(taps.weights, [0.525, 0.475]);
        let taps = Taps::new(&axis, 1);
        assert_eq!(taps.sources, 1..4);
        assert_eq!(taps.weights, [0.05, 0.525, 0.425]);
        let taps = Taps::new(&axis, 83);
        assert_eq!(taps.sources, 158..160);
        assert_eq!(taps.weights.len(), 2);
    }

    #[test]
    fn rounds_halves_to_even() {
        let mut target = [0; 6];
        let mut row = [0.0; MAX_LANES];
        row[..6].copy_from_slice(&[0.5, 1.5, 2.4999, 254.5, 255.4, 300.0]);
        let expected = [0, 2, 2, 254, 255, 255];
        scalar::sum_columns(&row, &[1.0], &mut target);
        assert_eq!(target, expected);
        if let Some(avx512) = Avx512::detect() {
            avx512.sum_columns(&row, &[1.0], &mut target);
            assert_eq!(target, expected);
        }
    }

    fn resized(area: &mut Area, source: &[u8], channels: usize) -> Vec<u8> {
        let mut target = vec![0; 84 * 84 * channels];
        area.resize(&mut Image::new(source, 160 * channels), None, &mut target);
        target
    }

    #[test]
    fn vector_and_scalar_code_agree() {
        let (rows, columns) = (Axis::new(210, 84), Axis::new(160, 84));
        for channels in [1, 3] {
            let mut area = Area::new(&rows, &columns, channels);
            let source: Vec<u8> = (0..210 * 160 * channels).map(|i| (i * i / 7 + i) as u8).collect();
            let widest = resized(&mut area, &source, channels);
            area.sums.avx512 = None;
            let narrow = resized(&mut area, &source, channels);
            area.sums.avx2 = None;
            let plain = resized(&mut area, &source, channels);
            assert_eq!(widest, plain);
            assert_eq!(narrow, plain);
        }
    }

    #[test]
    fn repeated_rows_give_the_same_result() {
        let mut area = Area::new(&Axis::new(210, 84), &Axis::new(160, 84), 1);
        // Runs of one to four equal rows.
        let byte = |i: usize| ((i / 160 * 13 / 31) * 7 + i % 160 * (i % 160)) as u8;
        let source: Vec<u8> = (0..210 * 160).map(byte).collect();
        let mut target = vec![0; 84 * 84];
        area.resize(&mut Image::new(&source, 160), None, &mut target);
        let mut sums = vec![0.0; 210 * area.tables.sums_len];
        for (pixels, sums) in source.chunks_exact(160).zip(sums.chunks_exact_mut(area.tables.sums_len)) {
            scalar::sum_row(
                &area.tables.sources,
                &area.tables.weights,
                pixels,
                &mut area.sums.gathered,
                sums,
            );
        }
        let mut expected = vec![0; 84 * 84];
        for (taps, expected) in area.tables.vertical.iter().zip(expected.chunks_exact_mut(84)) {
            let rows = taps.sources.start * area.tables.sums_len..taps.sources.end * area.tables.sums_len;
            scalar::sum_columns(&sums[rows], &taps.weights, expected);
        }
        assert_eq!(target, expected);
    }
}
