//! Biases in burn's operations, for devices other than the CPU.

use burn::tensor::Tensor;

/// The largest number of rows that a step of the sum adds.
const STEP: usize = 256;

/// Adds a bias `[columns]` to every row of `[rows, columns]`.
///
/// The gradient of the bias is a sum over all rows. burn's kernels for GPUs compute one sum per column and read its
/// rows one after the other, at 190 ns per row on an H100. The bias is therefore expanded in steps, so that its
/// gradient is a sum of sums that are computed in parallel.
pub(super) fn add_bias(rows: Tensor<2>, bias: Tensor<1>) -> Tensor<2> {
    let [count, columns] = rows.dims();
    if count <= STEP {
        return rows + bias.unsqueeze();
    }
    let step = step(count);
    let bias = expanded(bias, count / step).reshape([count / step, 1, columns]);
    (rows.reshape([count / step, step, columns]) + bias).reshape([count, columns])
}

/// Expands a bias to `[rows, columns]`.
fn expanded(bias: Tensor<1>, rows: usize) -> Tensor<2> {
    let columns = bias.dims()[0];
    let step = step(rows);
    if step == rows || step == 1 {
        return bias.unsqueeze::<2>().expand([rows, columns]);
    }
    let outer: Tensor<3> = expanded(bias, rows / step).reshape([rows / step, 1, columns]);
    outer.expand([rows / step, step, columns]).reshape([rows, columns])
}

/// Returns the largest divisor of `rows` up to [`STEP`].
fn step(rows: usize) -> usize {
    (1..=STEP.min(rows)).rev().find(|step| rows.is_multiple_of(*step)).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use burn::tensor::{Device, TensorData};

    use super::*;

    #[test]
    fn biases_are_added_and_their_gradients_are_sums_over_all_rows() {
        let device = Device::flex().autodiff();
        // No rows, a few, a prime number larger than a step, and numbers with one and with two levels of sums.
        for count in [0, 1, 7, 257, 256 * 3, 2 * 256 * 256, 5 * 49 * 128] {
            let rows = TensorData::new((0..2 * count).map(|value| (value % 16) as f32).collect(), [count, 2]);
            let rows = Tensor::<2>::from_data(rows, &device);
            let bias = Tensor::<1>::from_floats([0.5, -3.0], &device).require_grad();
            let sum = add_bias(rows.clone(), bias.clone());
            let expected = rows.clone() + bias.clone().unsqueeze();
            assert_eq!(sum.to_data(), expected.to_data(), "{count} rows");
            let factors = rows + 1.0;
            let gradient = bias.grad(&(sum * factors.clone()).sum().backward());
            let expected = factors.inner().sum_dim(0).squeeze_dim::<1>(0);
            // Small integers, whose sums are exact.
            assert_eq!(gradient.expect("a gradient").to_data(), expected.to_data(), "{count} rows");
        }
    }
}
