//! Sums of outer products over the positions of a kernel.

use pulp::{Simd, WithSimd};

use super::panel::columns;
use super::tile::{tiles, with_rows};

/// Positions in an image: `height` rows of `width` positions.
#[derive(Clone, Copy)]
pub(crate) struct Grid {
    pub(crate) height: usize,
    pub(crate) width: usize,
    /// Values from one row to the next.
    pub(crate) row_step: usize,
    /// Values from one position to the next.
    pub(crate) step: usize,
}

impl Grid {
    /// Returns the offset of the last position.
    fn last(self) -> usize {
        (self.height - 1) * self.row_step + (self.width - 1) * self.step
    }
}

/// Operation that adds the outer products of the `length` values at each position of `left` with a pair of
/// vectors at the same position of `right`.
pub(crate) struct OuterProducts<'a> {
    pub(crate) left: &'a [f32],
    pub(crate) left_grid: Grid,
    pub(crate) length: usize,
    pub(crate) right: &'a [f32],
    /// The positions in `right`, with the same height and width as `left_grid`.
    pub(crate) right_grid: Grid,
    /// A panel of `length` rows.
    pub(crate) sums: &'a mut [f32],
}

impl WithSimd for OuterProducts<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let (left, right) = (self.left_grid, self.right_grid);
        assert!((left.height, left.width) == (right.height, right.width) && left.step > 0);
        assert!(left.last() + self.length <= self.left.len());
        assert!(right.last() + columns::<S>() <= self.right.len());
        for rows in tiles::<S>(self.length) {
            with_rows!(rows.len(), add::<S>(simd, &mut self, rows.start));
        }
    }
}

/// Adds to the rows `first..first + ROWS`. The caller has checked the sizes.
#[allow(unsafe_code)]
#[inline(always)]
fn add<S: Simd, const ROWS: usize>(simd: S, products: &mut OuterProducts<'_>, first: usize) {
    let OuterProducts { left, left_grid, right, right_grid, .. } = *products;
    let (stored, _) = S::as_mut_simd_f32s(&mut products.sums[first * columns::<S>()..]);
    let stored = &mut stored[..2 * ROWS];
    let mut sums = [[simd.splat_f32s(0.0); 2]; ROWS];
    for (row, sums) in sums.iter_mut().enumerate() {
        *sums = [stored[2 * row], stored[2 * row + 1]];
    }
    let (mut left, mut right) = (left[first..].as_ptr(), right.as_ptr());
    for _ in 0..left_grid.height {
        let (mut value, mut pair) = (left, right);
        let end = left.wrapping_add(left_grid.width * left_grid.step);
        // Not a `while` loop: the check before it would make the compiler copy all sums.
        loop {
            // SAFETY: `with_simd` has checked that ROWS values follow each position of `left`, and two vectors
            // each of `right`. Vectors may be loaded from any address.
            unsafe {
                let vectors = pair.cast::<S::f32s>();
                let vectors = [vectors.read_unaligned(), vectors.add(1).read_unaligned()];
                for (row, sums) in sums.iter_mut().enumerate() {
                    let factor = simd.splat_f32s(*value.add(row));
                    sums[0] = simd.mul_add_f32s(factor, vectors[0], sums[0]);
                    sums[1] = simd.mul_add_f32s(factor, vectors[1], sums[1]);
                }
            }
            value = value.wrapping_add(left_grid.step);
            pair = pair.wrapping_add(right_grid.step);
            if value == end {
                break;
            }
        }
        left = left.wrapping_add(left_grid.row_step);
        right = right.wrapping_add(right_grid.row_step);
    }
    for (row, sums) in sums.iter().enumerate() {
        stored[2 * row] = sums[0];
        stored[2 * row + 1] = sums[1];
    }
}

/// Operation that adds the pairs of vectors at all positions.
pub(crate) struct PositionSums<'a> {
    pub(crate) values: &'a [f32],
    pub(crate) grid: Grid,
    /// One row of a panel.
    pub(crate) sums: &'a mut [f32],
}

impl WithSimd for PositionSums<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Grid { height, width, row_step, step } = self.grid;
        let (stored, _) = S::as_mut_simd_f32s(self.sums);
        let mut sums = [stored[0], stored[1]];
        for y in 0..height {
            for x in 0..width {
                let (pair, _) = S::as_simd_f32s(&self.values[y * row_step + x * step..][..columns::<S>()]);
                sums[0] = simd.add_f32s(sums[0], pair[0]);
                sums[1] = simd.add_f32s(sums[1], pair[1]);
            }
        }
        stored[0] = sums[0];
        stored[1] = sums[1];
    }
}

#[cfg(test)]
mod tests {
    use pulp::Arch;

    use super::super::panel::columns_here;
    use super::*;

    #[test]
    fn outer_products_equal_sums_by_definition() {
        // Whole numbers, whose sums are exact.
        let left: Vec<f32> = (0..300).map(|index| (index * 37 % 23) as f32 - 11.0).collect();
        let right: Vec<f32> = (0..400).map(|index| (index * 29 % 17) as f32 - 8.0).collect();
        let left_grid = Grid { height: 3, width: 4, row_step: 50, step: 5 };
        let right_grid = Grid { height: 3, width: 4, row_step: 90, step: 40 };
        let positions = || (0..3).flat_map(|y| (0..4).map(move |x| (y, x)));
        let columns = columns_here();
        for length in 1..=30 {
            let mut sums = vec![2.0; length * columns];
            let products =
                OuterProducts { left: &left, left_grid, length, right: &right, right_grid, sums: &mut sums };
            Arch::new().dispatch(products);
            for (index, sum) in sums.iter().enumerate() {
                let (row, column) = (index / columns, index % columns);
                let product = |(y, x)| left[y * 50 + x * 5 + row] * right[y * 90 + x * 40 + column];
                assert_eq!(
                    *sum,
                    2.0 + positions().map(product).sum::<f32>(),
                    "row {row} of {length}, {column}"
                );
            }
        }
        let mut sums = vec![1.0; columns];
        Arch::new().dispatch(PositionSums { values: &right, grid: right_grid, sums: &mut sums });
        for (column, sum) in sums.iter().enumerate() {
            let expected: f32 = positions().map(|(y, x)| right[y * 90 + x * 40 + column]).sum();
            assert_eq!(*sum, 1.0 + expected, "{column}");
        }
    }
}
