use std::sync::Arc;

use super::axis::Axis;
use super::rows::Rows;

/// One in the 11-bit fixed point of the weights.
const ONE: f32 = 2048.0;

/// A weighted mean of two neighbours in each direction, in integers.
///
/// `OpenCV` enlarges this way, with positions that extend the area rule, and also shrinks one direction this way if the
/// other grows.
#[derive(Clone, Debug)]
pub(super) struct Linear {
    tables: Arc<Tables>,
    /// Every source row after the horizontal means.
    rows: Box<[i32]>,
}

#[derive(Debug)]
struct Tables {
    /// The number of elements (pixels times channels) of a target row.
    target_len: usize,
    horizontal: Box<[Pair]>,
    vertical: Box<[Pair]>,
}

/// Two neighbouring source elements and their weights.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Pair {
    first: usize,
    second: usize,
    first_weight: i32,
    second_weight: i32,
}

impl Pair {
    /// Returns the pair of target pixel `index`.
    fn new(axis: &Axis, index: usize) -> Self {
        let last = axis.source - 1;
        let first = (index as f64 * axis.scale).floor() as usize;
        let position = ((index + 1) as f64 - (first + 1) as f64 * axis.inverse_scale) as f32;
        let fraction = if first >= last || position <= 0.0 { 0.0 } else { position - position.floor() };
        Self {
            first: first.min(last),
            second: (first + 1).min(last),
            first_weight: ((1.0 - fraction) * ONE).round_ties_even() as i32,
            second_weight: (fraction * ONE).round_ties_even() as i32,
        }
    }

    /// Returns the pair of the same pixels' elements in `channel` of `channels`.
    fn in_channel(self, channel: usize, channels: usize) -> Self {
        Self { first: self.first * channels + channel, second: self.second * channels + channel, ..self }
    }

    /// Returns the pair of every target pixel.
    fn along(axis: &Axis) -> impl Iterator<Item = Self> {
        (0..axis.target).map(|index| Self::new(axis, index))
    }
}

impl Linear {
    pub(super) fn new(rows: &Axis, columns: &Axis, channels: usize) -> Self {
        let horizontal = Pair::along(columns)
            .flat_map(|pair| (0..channels).map(move |channel| pair.in_channel(channel, channels)));
        let tables = Tables {
            target_len: columns.target * channels,
            horizontal: horizontal.collect(),
            vertical: Pair::along(rows).collect(),
        };
        Self { rows: vec![0; rows.source * tables.target_len].into(), tables: Arc::new(tables) }
    }

    pub(super) fn resize(&mut self, source: &mut impl Rows, target: &mut [u8]) {
        let tables = &*self.tables;
        let len = tables.target_len;
        for row in 0..self.rows.len() / len {
            match source.row(row) {
                Some(pixels) => {
                    for (element, pair) in self.rows[row * len..].iter_mut().zip(&tables.horizontal) {
                        *element = i32::from(pixels[pair.first]) * pair.first_weight
                            + i32::from(pixels[pair.second]) * pair.second_weight;
                    }
                }
                None => self.rows.copy_within((row - 1) * len..row * len, row * len),
            }
        }
        let targets = target.chunks_exact_mut(tables.target_len);
        for (pair, target) in tables.vertical.iter().zip(targets) {
            let row = |index: usize| &self.rows[index * tables.target_len..][..tables.target_len];
            mix(pair, row(pair.first), row(pair.second), target);
        }
    }
}

/// Writes the weighted mean of two rows. The shifts drop the same bits as `OpenCV`'s.
fn mix(pair: &Pair, first: &[i32], second: &[i32], target: &mut [u8]) {
    for ((target, &first), &second) in target.iter_mut().zip(first).zip(second) {
        let first = (pair.first_weight * (first >> 4)) >> 16;
        let second = (pair.second_weight * (second >> 4)) >> 16;
        *target = ((first + second + 2) >> 2).clamp(0, 255) as u8;
    }
}
