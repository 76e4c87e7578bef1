use std::ops::Range;
use std::sync::Arc;

use super::{Axis, any_changed};

/// Weighted sums of the pixels that a target pixel covers, partly or wholly.
///
/// Sums are made in `f32`, first along the rows, then down the columns, in increasing order of the source, each
/// product and each sum rounded by itself. A fused multiply-add or a wider type would change pixels.
#[derive(Clone, Debug)]
pub(super) struct Area {
    tables: Arc<Tables>,
    /// Every source row after the horizontal sums, kept for the rows that do not change.
    rows: Box<[f32]>,
    /// One target row of vertical sums.
    sums: Box<[f32]>,
    /// The taps of one source row.
    gathered: Box<[f32]>,
}

#[derive(Debug)]
struct Tables {
    /// Elements (pixels times channels) of a source row.
    source_len: usize,
    /// Elements of a target row.
    target_len: usize,
    /// For the first source element of every target element, then for the second, and so on: the element's index.
    sources: Box<[usize]>,
    /// Its weight. Elements with fewer taps than others have weight 0 for the rest, which adds nothing to a sum.
    weights: Box<[f32]>,
    /// For each target row its source rows and their weights.
    vertical: Box<[Taps]>,
}

/// The source elements that one target element covers.
#[derive(Debug)]
struct Taps {
    sources: Range<usize>,
    weights: Vec<f32>,
}

impl Taps {
    /// The taps of target element `index`. Weights are computed in `f64`, and rounded once.
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

    fn of(axis: &Axis) -> Vec<Self> {
        (0..axis.target).map(|index| Self::new(axis, index)).collect()
    }
}

impl Tables {
    fn new(rows: &Axis, columns: &Axis, channels: usize) -> Self {
        let horizontal = Taps::of(columns);
        let most_taps = horizontal.iter().map(|taps| taps.weights.len()).max().unwrap_or(0);
        let (mut sources, mut weights) = (Vec::new(), Vec::new());
        for tap in 0..most_taps {
            for taps in &horizontal {
                let weight = taps.weights.get(tap).copied().unwrap_or(0.0);
                let pixel = (taps.sources.start + tap).min(columns.source - 1);
                for channel in 0..channels {
                    sources.push(pixel * channels + channel);
                    weights.push(weight);
                }
            }
        }
        Self {
            source_len: columns.source * channels,
            target_len: columns.target * channels,
            sources: sources.into(),
            weights: weights.into(),
            vertical: Taps::of(rows).into(),
        }
    }
}

impl Area {
    pub(super) fn new(rows: &Axis, columns: &Axis, channels: usize) -> Self {
        let tables = Tables::new(rows, columns, channels);
        let zeros = |len: usize| vec![0.0; len].into_boxed_slice();
        Self {
            rows: zeros(rows.source * tables.target_len),
            sums: zeros(tables.target_len),
            gathered: zeros(tables.sources.len()),
            tables: Arc::new(tables),
        }
    }

    pub(super) fn resize(&mut self, source: &[u8], changed: &[bool], target: &mut [u8]) {
        let tables = &*self.tables;
        let pixels = source.chunks_exact(tables.source_len);
        let rows = self.rows.chunks_exact_mut(tables.target_len);
        for ((pixels, row), _) in pixels.zip(rows).zip(changed).filter(|(_, changed)| **changed) {
            tables.sum_row(pixels, &mut self.gathered, row);
        }
        let targets = target.chunks_exact_mut(tables.target_len);
        for (taps, target) in tables.vertical.iter().zip(targets) {
            if any_changed(changed, taps.sources.clone()) {
                tables.sum_columns(taps, &self.rows, &mut self.sums);
                round(&self.sums, target);
            }
        }
    }
}

impl Tables {
    /// The horizontal sums of one source row.
    fn sum_row(&self, pixels: &[u8], gathered: &mut [f32], row: &mut [f32]) {
        // Looking the pixels up first leaves plain loops over neighbouring floats for the arithmetic.
        for (gathered, &source) in gathered.iter_mut().zip(&self.sources) {
            *gathered = f32::from(pixels[source]);
        }
        row.fill(0.0);
        let weights = self.weights.chunks_exact(self.target_len);
        for (gathered, weights) in gathered.chunks_exact(self.target_len).zip(weights) {
            add_products(row, gathered, weights);
        }
    }

    /// The vertical sums of one target row.
    fn sum_columns(&self, taps: &Taps, rows: &[f32], sums: &mut [f32]) {
        sums.fill(0.0);
        let rows = rows.chunks_exact(self.target_len).skip(taps.sources.start);
        for (row, &weight) in rows.zip(&taps.weights) {
            for (sum, &element) in sums.iter_mut().zip(row) {
                *sum += element * weight;
            }
        }
    }
}

/// Adds the products of elements and weights, each rounded before it is added.
fn add_products(sums: &mut [f32], elements: &[f32], weights: &[f32]) {
    for ((sum, element), weight) in sums.iter_mut().zip(elements).zip(weights) {
        *sum += element * weight;
    }
}

/// Rounds sums to bytes, halves to even.
fn round(sums: &[f32], target: &mut [u8]) {
    /// At 2^23 the spacing of `f32` is 1, so that the addition itself rounds, and the byte is what lies above it.
    const ONES: f32 = 8388608.0;
    for (target, &sum) in target.iter_mut().zip(sums) {
        *target = ((sum + ONES).to_bits() - ONES.to_bits()).min(255) as u8;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 160 columns to 84: a target pixel covers 1.904... source pixels.
    #[test]
    fn taps_cover_what_the_target_pixel_covers() {
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
    fn halves_go_to_the_even_neighbour() {
        let mut target = [0; 6];
        round(&[0.5, 1.5, 2.4999, 254.5, 255.4, 300.0], &mut target);
        assert_eq!(target, [0, 2, 2, 254, 255, 255]);
    }
}
