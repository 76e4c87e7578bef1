use std::mem::MaybeUninit;

use super::panels::HalfPanels;
use super::sizes::{BLOCK_ROWS, BLOCK_WORDS, PANEL_COLUMNS};

/// A matrix of `bf16` that is read in place, such as the patches of an image. Row `i` consists of the `length` values
/// from `values[run + i * step]` on, for each of `runs`. Up to 31 values after each run are read too, and multiplied by
/// 0.
#[derive(Clone, Copy)]
pub(crate) struct HalfRows<'a> {
    pub(crate) values: &'a [u16],
    /// Number of rows.
    pub(crate) count: usize,
    pub(crate) step: usize,
    pub(crate) runs: &'a [usize],
    pub(crate) length: usize,
}

/// Operation that writes `max(left * right + bias, least)` to `result`, whose previous contents do not matter. NaN
/// stays NaN.
pub(crate) struct HalfProduct<'a> {
    pub(crate) left: HalfRows<'a>,
    /// A matrix that has the runs of `left`, and perhaps others before and after them.
    pub(crate) right: &'a HalfPanels,
    /// The first of these runs in `right`.
    pub(crate) first_run: usize,
    /// One value per column, or none for zeros.
    pub(crate) bias: &'a [f32],
    pub(crate) least: f32,
    /// Row `i` of the result begins at `result[i * result_step]`.
    pub(crate) result: &'a mut [MaybeUninit<f32>],
    pub(crate) result_step: usize,
}

impl HalfProduct<'_> {
    /// Checks that all reads and writes are within their slices.
    pub(super) fn check(&self) {
        let HalfRows { values, count, step, runs, length } = self.left;
        let last = (count - 1) * step + length.next_multiple_of(BLOCK_ROWS);
        assert!(length > 0 && runs.iter().all(|run| run + last <= values.len()));
        assert!(!runs.is_empty() && self.first_run + runs.len() <= self.right.runs());
        assert_eq!(length.div_ceil(BLOCK_ROWS), self.right.blocks());
        let columns = self.right.columns();
        assert!(self.bias.is_empty() || self.bias.len() == columns);
        assert!((count - 1) * self.result_step + columns <= self.result.len());
    }

    /// Returns the words of the runs in a panel.
    #[inline(always)]
    pub(super) fn panel(&self, panel: usize) -> &[u32] {
        &self.right.panel(panel)[self.first_run * self.right.blocks() * BLOCK_WORDS..]
    }

    /// Writes the sums of some rows from `first` on in the columns of a panel.
    #[inline(always)]
    pub(super) fn write(&mut self, first: usize, panel: usize, sums: &[[f32; PANEL_COLUMNS]]) {
        let (start, columns) = (panel * PANEL_COLUMNS, self.right.shown_columns(panel));
        let mut bias = [0.0; PANEL_COLUMNS];
        if !self.bias.is_empty() {
            bias[..columns].copy_from_slice(&self.bias[start..start + columns]);
        }
        for (row, sums) in (first..).zip(sums) {
            let result = &mut self.result[row * self.result_step + start..][..columns];
            for ((result, &sum), bias) in result.iter_mut().zip(sums).zip(bias) {
                let value = sum + bias;
                // A comparison with NaN is false, so NaN stays NaN.
                result.write(if value < self.least { self.least } else { value });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::super::arithmetic::Bf16Arithmetic;
    use super::super::emulated;
    use super::super::number::round;
    use super::*;

    /// Returns `left * right` by an arithmetic, emulated if `is_emulated` is true.
    #[allow(unsafe_code)]
    fn product(
        left: HalfRows<'_>,
        right: &HalfPanels,
        (bias, least): (&[f32], f32),
        arithmetic: Bf16Arithmetic,
        is_emulated: bool,
    ) -> Vec<f32> {
        let result_step = right.columns() + 3;
        let mut result = vec![MaybeUninit::new(-7.0); left.count * result_step];
        let mut product =
            HalfProduct { left, right, first_run: 0, bias, least, result: &mut result, result_step };
        if is_emulated {
            product.check();
            emulated::multiply(&mut product, arithmetic);
        } else {
            product.run(arithmetic);
        }
        // SAFETY: all values were written when the vector was made.
        result.into_iter().map(|value| unsafe { value.assume_init() }).collect()
    }

    #[test]
    fn products_equal_sums_by_definition() {
        // Whole numbers, whose sums are exact.
        let values: Vec<u16> = (0..3000).map(|index| round((index * 37 % 23) as f32 - 11.0)).collect();
        let whole = |index: usize| (index * 37 % 23) as f32 - 11.0;
        for (length, runs, step) in [(7, vec![5, 60], 13), (32, vec![3], 40), (65, vec![0, 100, 900], 33)] {
            for (count, columns) in [(1, 1), (9, 32), (10, 33), (17, 64), (33, 18), (50, 48)] {
                let at = |row: usize, column: usize| ((row * 31 + column * 17) % 19) as f32 - 9.0;
                let rows = runs.len() * length;
                let matrix: Vec<f32> =
                    (0..rows * columns).map(|at_| at(at_ / columns, at_ % columns)).collect();
                let right = HalfPanels::pack(&matrix, runs.len(), length, columns);
                let left = HalfRows { values: &values, count, step, runs: &runs, length };
                let bias: Vec<f32> = (0..columns).map(|column| column as f32).collect();
                for &arithmetic in Bf16Arithmetic::ALL {
                    for is_emulated in [false, true] {
                        let result = product(left, &right, (&bias, 0.0), arithmetic, is_emulated);
                        for (row, result) in result.chunks_exact(columns + 3).enumerate() {
                            let of_run = |&run: &usize| (0..length).map(move |k| whole(run + row * step + k));
                            let left: Vec<f32> = runs.iter().flat_map(of_run).collect();
                            let sum = |column| (0..rows).map(|k| left[k] * at(k, column)).sum::<f32>();
                            let expected: Vec<f32> =
                                (0..columns).map(|column| (sum(column) + column as f32).max(0.0)).collect();
                            assert_eq!(result[..columns], expected, "{arithmetic:?}, row {row} of {count}");
                            assert_eq!(result[columns..], [-7.0; 3]);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn emulated_products_equal_those_of_the_instructions_bit_for_bit() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut compared = 0;
        for &arithmetic in Bf16Arithmetic::ALL.iter().filter(|arithmetic| arithmetic.is_native()) {
            // The last scale makes products of denormal size.
            for scale in [1.0, 1e-10, 1e-19] {
                let mut draw = || scale * (rng.random::<f32>() - 0.5) * 2f32.powi(rng.random_range(0..12));
                let matrix: Vec<f32> = (0..300 * 40).map(|_| draw()).collect();
                let values: Vec<u16> = (0..20 * 300 + 32).map(|_| round(draw())).collect();
                let right = HalfPanels::pack(&matrix, 1, 300, 40);
                let left = HalfRows { values: &values, count: 20, step: 300, runs: &[0], length: 300 };
                let [ours, theirs] = [false, true].map(|is_emulated| {
                    product(left, &right, (&[], f32::NEG_INFINITY), arithmetic, is_emulated)
                });
                let bits = |values: Vec<f32>| values.into_iter().map(f32::to_bits).collect::<Vec<_>>();
                assert_eq!(bits(ours), bits(theirs), "{arithmetic:?}, scale {scale}");
                compared += 1;
            }
        }
        println!("{compared} products compared");
    }

    #[test]
    fn transposed_matrices_are_packed_alike() {
        let (length, columns) = (75, 40);
        let at = |row: usize, column: usize| (row * 100 + column) as f32;
        let matrix: Vec<f32> =
            (0..length * columns).map(|index| at(index / columns, index % columns)).collect();
        let transposed: Vec<f32> =
            (0..length * columns).map(|index| at(index % length, index / length)).collect();
        let [ours, theirs] = [
            HalfPanels::pack(&matrix, 1, length, columns),
            HalfPanels::pack_transposed(&transposed, columns),
        ];
        assert!((0..2).all(|panel| ours.panel(panel) == theirs.panel(panel)));
    }

    #[test]
    fn nan_stays_nan() {
        let right = HalfPanels::pack(&[1.0], 1, 1, 1);
        for &arithmetic in Bf16Arithmetic::ALL {
            for is_emulated in [false, true] {
                let mut values = [0; 32];
                values[0] = round(f32::NAN);
                let left = HalfRows { values: &values, count: 1, step: 1, runs: &[0], length: 1 };
                assert!(product(left, &right, (&[], 0.0), arithmetic, is_emulated)[0].is_nan());
            }
        }
    }
}
