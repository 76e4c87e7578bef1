//! The product of rows that are read in place with a panel of weights.

use std::mem::MaybeUninit;
use std::ops::Range;

use pulp::{Simd, WithSimd};

use super::panel::{MAX_COLUMNS, columns};
use super::tile::{tiles, with_rows};

/// A matrix that is read in place, such as the patches of an image. Row `i` consists of the `length` values from
/// `values[run + i * step]` on, `element_step` apart, for each of `runs`.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'a> {
    pub(crate) values: &'a [f32],
    /// Number of rows.
    pub(crate) count: usize,
    pub(crate) step: usize,
    pub(crate) runs: &'a [usize],
    pub(crate) length: usize,
    pub(crate) element_step: usize,
}

impl<'a> Rows<'a> {
    /// Returns some rows of a matrix in row-major order.
    pub(crate) fn of_matrix(values: &'a [f32], columns: usize, rows: Range<usize>) -> Self {
        let values = &values[rows.start * columns..rows.end * columns];
        Self { values, count: rows.len(), step: columns, runs: &[0], length: columns, element_step: 1 }
    }

    /// Returns some columns of a matrix in row-major order, as rows.
    pub(crate) fn of_columns(values: &'a [f32], columns: usize, some: Range<usize>) -> Self {
        let length = values.len() / columns;
        let values = &values[some.start..];
        Self { values, count: some.len(), step: 1, runs: &[0], length, element_step: columns }
    }
}

/// Operation that writes `max(left * right + bias, least)` to `result`, whose previous contents do not matter. NaN
/// stays NaN.
pub(crate) struct Product<'a> {
    pub(crate) left: Rows<'a>,
    /// A panel with one row per column of `left`. There may be more rows, which are ignored.
    pub(crate) right: &'a [f32],
    /// Values from one row of the panel to the next.
    pub(crate) right_step: usize,
    /// One value per column of the panel.
    pub(crate) bias: &'a [f32; MAX_COLUMNS],
    pub(crate) least: f32,
    /// Row `i` of the result begins at `result[i * result_step]`.
    pub(crate) result: &'a mut [MaybeUninit<f32>],
    pub(crate) result_step: usize,
    /// Number of columns of the result. The panel may have more.
    pub(crate) columns: usize,
}

impl WithSimd for Product<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let left = self.left;
        if left.count == 0 {
            return;
        }
        assert!(left.length > 0 && left.element_step > 0);
        let last = (left.count - 1) * left.step + (left.length - 1) * left.element_step;
        assert!(left.runs.iter().all(|run| run + last < left.values.len()));
        let last_row = (left.runs.len() * left.length).saturating_sub(1);
        assert!(last_row * self.right_step + columns::<S>() <= self.right.len());
        for rows in tiles::<S>(left.count) {
            with_rows!(rows.len(), multiply::<S>(simd, &mut self, rows.start));
        }
    }
}

/// Computes the rows `first..first + ROWS`. The caller has checked the sizes.
#[allow(unsafe_code)]
#[inline(always)]
fn multiply<S: Simd, const ROWS: usize>(simd: S, product: &mut Product<'_>, first: usize) {
    let Rows { values, step, runs, length, element_step, .. } = product.left;
    let mut sums = [[simd.splat_f32s(0.0); 2]; ROWS];
    let mut right = product.right.as_ptr();
    for &run in runs {
        let mut value = values[run + first * step..].as_ptr();
        let end = value.wrapping_add(length * element_step);
        // Not a `while` loop: the check before it would make the compiler copy all sums.
        loop {
            // SAFETY: `with_simd` has checked that the last row's runs end within `values`, and that `right` has
            // a pair of vectors for each value of a row. Vectors may be loaded from any address.
            unsafe {
                let vectors = right.cast::<S::f32s>();
                let pair = [vectors.read_unaligned(), vectors.add(1).read_unaligned()];
                right = right.wrapping_add(product.right_step);
                // Computing addresses in groups of four rows takes few registers.
                let mut group = value;
                for (row, sums) in sums.iter_mut().enumerate() {
                    if row > 0 && row % 4 == 0 {
                        group = group.wrapping_add(4 * step);
                    }
                    let factor = simd.splat_f32s(*group.wrapping_add(row % 4 * step));
                    sums[0] = simd.mul_add_f32s(factor, pair[0], sums[0]);
                    sums[1] = simd.mul_add_f32s(factor, pair[1], sums[1]);
                }
            }
            value = value.wrapping_add(element_step);
            if value == end {
                break;
            }
        }
    }
    let least = simd.splat_f32s(product.least);
    let (bias, _) = S::as_simd_f32s(product.bias);
    for (row, sums) in sums.iter().enumerate() {
        let stored = &mut product.result[(first + row) * product.result_step..][..product.columns];
        // A comparison with NaN is false, so NaN stays NaN. The maximum would drop it on processors without AVX2.
        let at_least = |sum| simd.select_f32s(simd.less_than_f32s(sum, least), least, sum);
        let left = at_least(simd.add_f32s(sums[0], bias[0]));
        let right = at_least(simd.add_f32s(sums[1], bias[1]));
        store::<S>(stored, left, right);
    }
}

/// Stores the columns that fit into `stored`.
#[inline(always)]
fn store<S: Simd>(stored: &mut [MaybeUninit<f32>], left: S::f32s, right: S::f32s) {
    let (vectors, _) = S::as_uninit_mut_simd_f32s(stored);
    if let [first, second, ..] = vectors {
        first.write(left);
        second.write(right);
        return;
    }
    let mut columns = [0.0; MAX_COLUMNS];
    let (vectors, _) = S::as_mut_simd_f32s(&mut columns);
    vectors[0] = left;
    vectors[1] = right;
    stored.write_copy_of_slice(&columns[..stored.len()]);
}

#[cfg(test)]
mod tests {
    use pulp::{Arch, Scalar};

    use super::super::panel::Panels;
    use super::*;

    #[test]
    #[allow(unsafe_code)]
    fn products_equal_sums_by_definition() {
        // Whole numbers, whose sums are exact.
        let values: Vec<f32> = (0..400).map(|index| (index * 37 % 23) as f32 - 11.0).collect();
        let (runs, length, step) = ([5, 60], 7, 13);
        for count in 1..=25 {
            for (result_columns, element_step) in [(1, 1), (5, 3), (32, 1), (32, 3)] {
                let at = |row: usize, column: usize| ((row * 31 + column * 17) % 19) as f32 - 9.0;
                let panels = Panels::pack(runs.len() * length, result_columns, at);
                let result_step = result_columns + 3;
                let mut result = vec![MaybeUninit::new(-1.0); count * result_step];
                for panel in 0..panels.count() {
                    let first = panel * panels.width();
                    Arch::new().dispatch(Product {
                        left: Rows { values: &values, count, step, runs: &runs, length, element_step },
                        right: panels.panel(panel),
                        right_step: panels.width(),
                        bias: &[0.5; MAX_COLUMNS],
                        least: 0.0,
                        result: &mut result[first..],
                        result_step,
                        columns: panels.shown_columns(panel),
                    });
                }
                // SAFETY: all values were written when the vector was made.
                let result: Vec<f32> =
                    result.into_iter().map(|value| unsafe { value.assume_init() }).collect();
                for (row, result) in result.chunks_exact(result_step).enumerate() {
                    let of_run = |run| (0..length).map(move |k| run + row * step + k * element_step);
                    let left = runs.into_iter().flat_map(of_run).map(|index| values[index]);
                    for (column, &value) in result[..result_columns].iter().enumerate() {
                        let sum: f32 = left.clone().enumerate().map(|(k, left)| left * at(k, column)).sum();
                        assert_eq!(value, (sum + 0.5).max(0.0), "row {row} of {count}, column {column}");
                    }
                    assert_eq!(result[result_columns..], [-1.0; 3], "beyond row {row} of {count}");
                }
            }
        }
    }

    #[test]
    #[allow(unsafe_code)]
    fn nan_stays_nan_on_every_processor() {
        let panels = Panels::pack(1, 1, |_, _| 1.0);
        for (value, least) in [(f32::NAN, 0.0), (f32::NAN, f32::NEG_INFINITY), (-2.0, 0.0), (3.0, 0.0)] {
            let values = [value];
            for on_this_processor in [true, false] {
                let mut result = [MaybeUninit::new(0.0)];
                let product = Product {
                    left: Rows::of_matrix(&values, 1, 0..1),
                    right: panels.panel(0),
                    right_step: panels.width(),
                    bias: &[0.0; MAX_COLUMNS],
                    least,
                    result: &mut result,
                    result_step: 1,
                    columns: 1,
                };
                if on_this_processor {
                    Arch::new().dispatch(product);
                } else {
                    Scalar.vectorize(product);
                }
                // SAFETY: the value was written when the array was made.
                let result = unsafe { result[0].assume_init() };
                let expected = if value < least { least } else { value };
                assert_eq!(result.to_bits(), expected.to_bits(), "{value} and at least {least}");
            }
        }
    }
}
