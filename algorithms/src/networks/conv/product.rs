//! The single-threaded matrix product. Its callers divide the work among threads.

use gemm::{Parallelism, gemm};

/// A matrix in row-major order, or its transpose.
#[derive(Clone, Copy)]
pub(super) struct Matrix<'a> {
    values: &'a [f32],
    rows: usize,
    columns: usize,
    row_stride: usize,
    column_stride: usize,
}

impl<'a> Matrix<'a> {
    /// `[rows, columns]` in row-major order.
    pub(super) fn new(values: &'a [f32], rows: usize, columns: usize) -> Self {
        assert_eq!(values.len(), rows * columns, "a matrix has rows times columns values");
        Self { values, rows, columns, row_stride: columns, column_stride: 1 }
    }

    /// Returns the transpose, without copying.
    pub(super) fn transposed(self) -> Self {
        Self {
            values: self.values,
            rows: self.columns,
            columns: self.rows,
            row_stride: self.column_stride,
            column_stride: self.row_stride,
        }
    }
}

/// Treatment of the previous contents of a product's destination.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum WriteMode {
    /// They are replaced.
    Overwrite,
    /// The product is added to them.
    Add,
}

/// Computes `left * right` into `result`, which is in row-major order.
///
/// # Panics
/// Panics if the sizes do not match.
#[allow(unsafe_code)]
pub(super) fn multiply(left: Matrix<'_>, right: Matrix<'_>, result: &mut [f32], mode: WriteMode) {
    assert_eq!(left.columns, right.rows, "the inner sizes of a product must be equal");
    assert_eq!(result.len(), left.rows * right.columns, "a product has left rows * right columns values");
    // SAFETY: `Matrix` holds exactly rows * columns values, and its strides reach each of them and no others,
    // also when transposed. The assertion above ensures that `result` has left.rows * right.columns values,
    // for which its strides are row-major. It is borrowed mutably, so it does not overlap the matrices.
    unsafe {
        gemm(
            left.rows,
            right.columns,
            left.columns,
            result.as_mut_ptr(),
            1,
            right.columns as isize,
            mode == WriteMode::Add,
            left.values.as_ptr(),
            left.column_stride as isize,
            left.row_stride as isize,
            right.values.as_ptr(),
            right.column_stride as isize,
            right.row_stride as isize,
            1.0,
            1.0,
            false,
            false,
            false,
            Parallelism::None,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_by_hand() {
        // [1 2 3; 4 5 6] * [1 0; 0 1; 2 2]
        let left = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let right = [1.0, 0.0, 0.0, 1.0, 2.0, 2.0];
        let mut result = [f32::NAN; 4];
        multiply(Matrix::new(&left, 2, 3), Matrix::new(&right, 3, 2), &mut result, WriteMode::Overwrite);
        assert_eq!(result, [7.0, 8.0, 16.0, 17.0]);
        multiply(Matrix::new(&left, 2, 3), Matrix::new(&right, 3, 2), &mut result, WriteMode::Add);
        assert_eq!(result, [14.0, 16.0, 32.0, 34.0]);
    }

    #[test]
    fn products_of_transposed_matrices_by_hand() {
        // [1 4; 2 5; 3 6] * [1 0 2; 0 1 2]
        let left = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let right = [1.0, 0.0, 0.0, 1.0, 2.0, 2.0];
        let mut result = [f32::NAN; 9];
        let (left, right) = (Matrix::new(&left, 2, 3), Matrix::new(&right, 3, 2));
        multiply(left.transposed(), right.transposed(), &mut result, WriteMode::Overwrite);
        assert_eq!(result, [1.0, 4.0, 10.0, 2.0, 5.0, 14.0, 3.0, 6.0, 18.0]);
    }
}
