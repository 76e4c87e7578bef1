//! Sums, norms and powers that round as NumPy's do.

use std::hint::black_box;
use std::iter::Sum;
use std::ops::Add;

/// The length of the longest array that NumPy adds in one block.
const BLOCK: usize = 128;
/// The number of partial sums in a block: number `i` is added to sum `i % COLUMNS`.
const COLUMNS: usize = 8;

/// Returns the sum of an array: `numpy.sum`. Up to seven numbers are added one after another, up to 128 in eight
/// columns, more as the sum of two halves.
pub(crate) fn sum<T: Copy + Add<Output = T> + Sum>(values: &[T]) -> T {
    if values.len() > BLOCK {
        let half = values.len() / 2;
        let (left, right) = values.split_at(half - half % COLUMNS);
        return sum(left) + sum(right);
    }
    let (rows, rest) = values.as_chunks::<COLUMNS>();
    let Some((first, rows)) = rows.split_first() else {
        return rest.iter().copied().sum();
    };
    let mut columns = *first;
    for row in rows {
        columns = std::array::from_fn(|column| columns[column] + row[column]);
    }
    let pair = |first: usize| columns[first] + columns[first + 1];
    let sum_of_columns = (pair(0) + pair(2)) + (pair(4) + pair(6));
    rest.iter().fold(sum_of_columns, |sum, &value| sum + value)
}

/// Returns the sum of the squares of 64-bit floats.
pub(crate) fn sum_of_squares(values: &[f64]) -> f64 {
    sum(&values.iter().map(|value| value * value).collect::<Vec<_>>())
}

/// Returns the sum of the squares of an action, in single precision.
pub(crate) fn action_cost(action: &[f32]) -> f32 {
    sum(&action.iter().map(|value| value * value).collect::<Vec<_>>())
}

/// Returns the Euclidean norm: `numpy.linalg.norm` as NumPy's wheels compute it with AVX2. On some processors with
/// AVX-512 they use fused multiply-adds instead, so that the last bit may differ.
pub(crate) fn norm(vector: &[f64]) -> f64 {
    vector.iter().map(|value| value * value).sum::<f64>().sqrt()
}

/// Returns the square of a scalar: `numpy.float64.__pow__`, which calls `pow`. Its last bit may differ from the
/// product's.
pub(crate) fn square(value: f64) -> f64 {
    // The compiler would replace a known exponent of 2 by a product.
    value.powf(black_box(2.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_have_the_order_of_numpy() {
        // 2^53 absorbs a 1 that is added to it, so that the result shows the order.
        let big = (1_u64 << 53) as f64;
        assert_eq!(sum(&[big, 1.0, 1.0]), big);
        assert_eq!(sum(&[1.0, 1.0, big]), big + 2.0);
        let mut values = [0.0; 17];
        (values[0], values[8], values[1], values[16]) = (big, 1.0, 1.0, 2.0);
        // Column 0 loses its 1, then column 1 is absorbed too, and the last number follows.
        assert_eq!(sum(&values), big + 2.0);
        let mut values = vec![0.0; 200];
        // The second half starts at 96: its ones are added before the first half absorbs them.
        (values[0], values[96], values[104]) = (big, 1.0, 1.0);
        assert_eq!(sum(&values), big + 2.0);
    }
}
