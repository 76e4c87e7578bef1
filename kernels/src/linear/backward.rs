//! The backward pass over a batch. Every sum has a fixed order, so the result is bit-identical on any number of
//! threads.

use std::borrow::Cow;

use pulp::Arch;

use super::forward::multiply;
use super::row_sums::sums_of_rows;
use super::{Sizes, half};
use crate::products::half::Bf16Arithmetic;
use crate::products::{Affine, Panels, Rows, Unrectified};

/// The tensors of a forward pass and the gradient of its output.
#[derive(Clone, Copy)]
pub(super) struct Backward<'a> {
    pub(super) sizes: Sizes,
    /// `[rows, inputs]`.
    pub(super) input: &'a [f32],
    /// `[inputs, outputs]`.
    pub(super) weight: &'a [f32],
    /// The result of the forward pass.
    pub(super) output: &'a [f32],
    /// The gradient with respect to `output`.
    pub(super) gradient: &'a [f32],
    /// True if the forward pass rectified.
    pub(super) rectified: bool,
    /// The arithmetic of products of 16-bit numbers; `None` for 32 bits.
    pub(super) arithmetic: Option<Bf16Arithmetic>,
}

impl<'a> Backward<'a> {
    /// Returns the gradient before the rectifier: `[rows, outputs]`.
    pub(super) fn unrectified(&self) -> Cow<'a, [f32]> {
        if !self.rectified {
            return Cow::Borrowed(self.gradient);
        }
        let mut result = vec![0.0; self.gradient.len()];
        let (gradient, output) = (self.gradient, self.output);
        Arch::new().dispatch(Unrectified { gradient, output, result: &mut result });
        Cow::Owned(result)
    }

    /// Computes the gradient of the input, `[rows, inputs]`, given the gradient of the output before the rectifier.
    pub(super) fn input_gradient(&self, gradient: &[f32]) -> Vec<f32> {
        let Sizes { rows, inputs, outputs } = self.sizes;
        if rows == 0 {
            return Vec::new();
        }
        if let Some(arithmetic) = self.arithmetic {
            return half::gradient_of_input(self.sizes, self.weight, gradient, arithmetic);
        }
        // Transposes the gradient and the result if they have fewer elements than the weight. For the layer after the
        // convolutions, transposing the weight takes longer than its product with a few rows.
        if rows * (inputs + outputs) < inputs * outputs {
            let result = multiply_transposed(self.weight, gradient, outputs);
            (0..rows).flat_map(|row| result.iter().skip(row).step_by(rows)).copied().collect()
        } else {
            multiply_transposed(gradient, self.weight, outputs)
        }
    }

    /// Computes the gradients of weight and bias, given the gradient of the output before the rectifier.
    pub(super) fn parameter_gradients(&self, gradient: &[f32]) -> (Vec<f32>, Vec<f32>) {
        let Sizes { rows, inputs, outputs } = self.sizes;
        if rows == 0 {
            return (vec![0.0; inputs * outputs], vec![0.0; outputs]);
        }
        if let Some(arithmetic) = self.arithmetic {
            return half::gradients_of_parameters(self.sizes, self.input, gradient, arithmetic);
        }
        let gradient = Panels::pack_rows(gradient, outputs);
        let bias = sums_of_rows(&gradient, rows);
        let affine = Affine::new(gradient, &vec![0.0; outputs], false);
        let weight = multiply(&affine, inputs, |some| Rows::of_columns(self.input, inputs, some));
        (weight, bias)
    }
}

/// Multiplies `left` by the transpose of `right`. Both are in row-major order and have the same columns.
fn multiply_transposed(left: &[f32], right: &[f32], columns: usize) -> Vec<f32> {
    let bias = vec![0.0; right.len() / columns];
    let affine = Affine::new(transposed(right, columns), &bias, false);
    multiply(&affine, left.len() / columns, |rows| Rows::of_matrix(left, columns, rows))
}

/// Transposes a matrix in row-major order.
fn transposed(matrix: &[f32], columns: usize) -> Panels {
    Panels::pack(columns, matrix.len() / columns, |row, column| matrix[column * columns + row])
}
