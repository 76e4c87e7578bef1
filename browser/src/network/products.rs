//! Products of matrices.

/// The values that are multiplied at once: those of a vector of SIMD128.
const LANES: usize = 4;
/// Rows of the inputs, and outputs, whose sums are computed together, so that each value that was loaded is used
/// several times.
const ROWS: usize = 2;
const OUTPUTS: usize = 4;

/// Computes the product of each row of `inputs` with each row of `weights`, plus the bias of the latter. Rows have
/// `length` values. Returns `[rows, outputs]`.
pub(super) fn products(inputs: &[f32], weights: &[f32], bias: &[f32], length: usize) -> Vec<f32> {
    let (rows, outputs) = (inputs.len() / length, bias.len());
    let mut results = vec![0.0; rows * outputs];
    for first in (0..outputs).step_by(OUTPUTS) {
        for row in (0..rows).step_by(ROWS) {
            // Beyond the last one, the last one is computed again.
            let of_row = |index: usize| row_of(inputs, (row + index).min(rows - 1), length);
            let of_output = |index: usize| row_of(weights, (first + index).min(outputs - 1), length);
            let sums = sums([of_row(0), of_row(1)], std::array::from_fn::<_, OUTPUTS, _>(of_output));
            for (row, sums) in (row..rows).zip(sums) {
                for (output, sum) in (first..outputs).zip(sums) {
                    results[row * outputs + output] = sum + bias[output];
                }
            }
        }
    }
    results
}

fn row_of(matrix: &[f32], row: usize, length: usize) -> &[f32] {
    &matrix[row * length..][..length]
}

/// Returns the sum of the products of each row and each row of weights. All have the same length.
fn sums(rows: [&[f32]; ROWS], weights: [&[f32]; OUTPUTS]) -> [[f32; OUTPUTS]; ROWS] {
    let mut lanes = [[[0.0_f32; LANES]; OUTPUTS]; ROWS];
    let (rows, rows_rest) = split(rows);
    let (weights, weights_rest) = split(weights);
    for position in 0..rows[0].len() {
        for (lanes, row) in lanes.iter_mut().zip(rows) {
            for (lanes, weights) in lanes.iter_mut().zip(weights) {
                for ((sum, value), weight) in lanes.iter_mut().zip(row[position]).zip(weights[position]) {
                    *sum += value * weight;
                }
            }
        }
    }
    let mut sums = lanes.map(|lanes| lanes.map(|lanes| lanes.iter().sum()));
    for (sums, row) in sums.iter_mut().zip(rows_rest) {
        for (sum, weights) in sums.iter_mut().zip(weights_rest) {
            *sum += row.iter().zip(weights).map(|(value, weight)| value * weight).sum::<f32>();
        }
    }
    sums
}

/// Splits slices into vectors and the values that remain.
fn split<const N: usize>(slices: [&[f32]; N]) -> ([&[[f32; LANES]]; N], [&[f32]; N]) {
    let parts = slices.map(<[f32]>::as_chunks);
    // All vectors have the same number, which saves checks.
    let count = parts.iter().map(|(vectors, _)| vectors.len()).min().unwrap_or(0);
    (parts.map(|(vectors, _)| &vectors[..count]), parts.map(|(_, rest)| rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_of_all_sizes_equal_those_of_the_definition() {
        for (rows, outputs, length) in [(1, 1, 1), (1, 7, 9), (3, 5, 4), (4, 4, 16), (5, 9, 131)] {
            let value = |index: usize| (index * 37 % 23) as f32 - 11.0;
            let inputs: Vec<f32> = (0..rows * length).map(value).collect();
            let weights: Vec<f32> = (0..outputs * length).map(|index| value(index * 5 + 3)).collect();
            let bias: Vec<f32> = (0..outputs).map(value).collect();
            let results = products(&inputs, &weights, &bias, length);
            for (row, results) in results.chunks(outputs).enumerate() {
                for (output, result) in results.iter().enumerate() {
                    let of_row = row_of(&inputs, row, length).iter();
                    let sum: f32 = of_row.zip(row_of(&weights, output, length)).map(|(a, b)| a * b).sum();
                    // Integers are summed without rounding.
                    assert_eq!(*result, sum + bias[output], "{rows} {outputs} {length}");
                }
            }
        }
    }
}
