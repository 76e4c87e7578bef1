use super::sizes::{BLOCK_PAIRS, PANEL_COLUMNS};

/// Rows of the sums that are computed together.
pub(crate) const ROWS: usize = 16;

/// Operation that adds the outer products of two lists of positions to `sums`. Position `i` of `left` has a value for
/// each row, and position `i` of `right` one for each column. Positions form an image, whose rows have up to
/// [`BLOCK_ROWS`](super::sizes::BLOCK_ROWS) of them. They are added in pairs: both values of a pair are next to each
/// other in `left`, and share a word in `right`. A row with an odd number of positions ends with a pair whose second
/// value is 0 in `left`.
pub(crate) struct HalfOuterProducts<'a> {
    /// The values of row `r` at image row `y` begin at `left[r * left_row + y * left_step]`.
    pub(crate) left: &'a [u16],
    pub(crate) left_row: usize,
    pub(crate) left_step: usize,
    /// The words of pair `p` at image row `y` begin at `right[y * right_step + p * right_pair]`.
    pub(crate) right: &'a [u32],
    pub(crate) right_pair: usize,
    pub(crate) right_step: usize,
    /// Pairs in an image row: at most those of a block.
    pub(crate) pairs: usize,
    /// Image rows.
    pub(crate) height: usize,
    /// `[rows, columns]`: multiples of [`ROWS`] and [`PANEL_COLUMNS`].
    pub(crate) sums: &'a mut [f32],
    pub(crate) columns: usize,
}

impl HalfOuterProducts<'_> {
    /// Checks that all reads and writes are within their slices.
    pub(super) fn check(&self) {
        assert!(self.height > 0 && (1..=BLOCK_PAIRS).contains(&self.pairs));
        assert!(self.columns > 0 && self.columns.is_multiple_of(PANEL_COLUMNS));
        let rows = self.sums.len() / self.columns;
        assert!(rows > 0 && rows.is_multiple_of(ROWS) && self.sums.len() == rows * self.columns);
        let last_row = (self.height - 1) * self.left_step + (rows - 1) * self.left_row;
        assert!(last_row + 2 * self.pairs <= self.left.len());
        let last_pair = (self.height - 1) * self.right_step + (self.pairs - 1) * self.right_pair;
        assert!(last_pair + self.columns <= self.right.len());
    }

    /// Returns the number of rows of the sums.
    pub(super) fn rows(&self) -> usize {
        self.sums.len() / self.columns
    }
}

#[cfg(test)]
mod tests {
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::super::arithmetic::Bf16Arithmetic;
    use super::super::emulated;
    use super::super::number::{pair, round};
    use super::*;

    /// Values of an image of `height` rows of `width` positions.
    struct Case {
        height: usize,
        width: usize,
        rows: usize,
        columns: usize,
        /// `[rows, height, width]`.
        left: Vec<f32>,
        /// `[height, width, columns]`.
        right: Vec<f32>,
    }

    impl Case {
        fn new(sizes: [usize; 4], mut draw: impl FnMut() -> f32) -> Self {
            let [height, width, rows, columns] = sizes;
            let left = (0..rows * height * width).map(|_| draw()).collect();
            let right = (0..height * width * columns).map(|_| draw()).collect();
            Self { height, width, rows, columns, left, right }
        }

        /// Returns a value on the right; 7 beyond the end of a row, which must not count.
        fn right(&self, y: usize, x: usize, column: usize) -> f32 {
            if x < self.width { self.right[(y * self.width + x) * self.columns + column] } else { 7.0 }
        }

        /// Returns 2 plus the products of a row of the left with a column of the right, by definition.
        fn expected_sum(&self, row: usize, column: usize) -> f32 {
            let positions = self.height * self.width;
            let products = (0..positions).map(|position| {
                self.left[row * positions + position] * self.right[position * self.columns + column]
            });
            2.0 + products.sum::<f32>()
        }

        /// Returns the sums that begin with 2.
        fn sums(&self, arithmetic: Bf16Arithmetic, is_emulated: bool) -> Vec<f32> {
            let Self { height, width, rows, columns, .. } = *self;
            let pairs = width.div_ceil(2);
            let mut left = vec![0; rows * height * 2 * pairs];
            for (row, values) in left.chunks_exact_mut(2 * pairs).zip(self.left.chunks_exact(width)) {
                row.iter_mut().zip(values).for_each(|(rounded, &value)| *rounded = round(value));
            }
            let right = (0..height * pairs * columns).map(|index| {
                let (column, pair_of_row, y) =
                    (index % columns, index / columns % pairs, index / columns / pairs);
                pair(self.right(y, 2 * pair_of_row, column), self.right(y, 2 * pair_of_row + 1, column))
            });
            let right: Vec<u32> = right.collect();
            let mut sums = vec![2.0; rows * columns];
            let mut products = HalfOuterProducts {
                left: &left,
                left_row: height * 2 * pairs,
                left_step: 2 * pairs,
                right: &right,
                right_pair: columns,
                right_step: pairs * columns,
                pairs,
                height,
                sums: &mut sums,
                columns,
            };
            if is_emulated {
                products.check();
                emulated::add(&mut products, arithmetic);
            } else {
                products.run(arithmetic);
            }
            sums
        }
    }

    #[test]
    fn outer_products_equal_sums_by_definition() {
        for sizes in [[1, 1, 16, 32], [3, 9, 32, 64], [2, 32, 48, 32], [5, 20, 16, 96]] {
            let mut index = 0;
            // Whole numbers, whose sums are exact.
            let case = Case::new(sizes, || {
                index += 1;
                (index * 37 % 23) as f32 - 11.0
            });
            for &arithmetic in Bf16Arithmetic::ALL {
                for is_emulated in [false, true] {
                    for (index, sum) in case.sums(arithmetic, is_emulated).into_iter().enumerate() {
                        let (row, column) = (index / case.columns, index % case.columns);
                        let expected = case.expected_sum(row, column);
                        assert_eq!(sum, expected, "{sizes:?}, {arithmetic:?}, row {row}, column {column}");
                    }
                }
            }
        }
    }

    #[test]
    fn emulated_outer_products_equal_those_of_the_instructions_bit_for_bit() {
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        for &arithmetic in Bf16Arithmetic::ALL.iter().filter(|arithmetic| arithmetic.is_native()) {
            for scale in [1.0, 1e-10, 1e-19] {
                let draw = || scale * (rng.random::<f32>() - 0.5) * 2f32.powi(rng.random_range(0..12));
                let case = Case::new([6, 9, 48, 64], draw);
                let bits = |is_emulated| case.sums(arithmetic, is_emulated).into_iter().map(f32::to_bits);
                assert!(bits(false).eq(bits(true)), "{arithmetic:?}, scale {scale}");
            }
        }
    }
}
