//! Fully connected layers with an optional ReLU.
//!
//! burn adds biases and rectifies in separate passes over the outputs, and its matrix product copies both factors. Here
//! inputs are read in place. So are weights, unless there are enough rows to make packing worthwhile.
//!
//! * `forward`, `backward`: the passes over a batch, in parallel
//! * `extension`: the operation in burn's terms
//! * `device`: the passes over a batch on devices

mod backward;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
mod device;
mod extension;
mod forward;
mod half;
mod row_sums;
#[cfg(test)]
mod tests;

use burn::module::Param;
use burn::nn::Linear;
use burn::tensor::Tensor;
use burn::tensor::activation::relu;

use super::precision::cast_like;
use super::products::Computation;

/// Applies a fully connected layer to `[rows, inputs]`: `[rows, outputs]` in the same format.
pub fn fully_connected(layer: &Linear, input: Tensor<2>, computation: Computation) -> Tensor<2> {
    affine(input, layer.weight.val(), layer.bias.as_ref().map(Param::val), computation)
}

/// Like [`fully_connected`], with a weight `[inputs, outputs]` and a bias `[outputs]`.
pub fn affine(
    input: Tensor<2>,
    weight: Tensor<2>,
    bias: Option<Tensor<1>>,
    computation: Computation,
) -> Tensor<2> {
    let weight = cast_like(weight, &input);
    if let Some(bias) = bias {
        let bias = cast_like(bias, &input);
        return extension::linear(input, weight, bias, computation);
    }
    let output = input.matmul(weight);
    if computation.rectify { relu(output) } else { output }
}

/// The sizes of a layer and its batch.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    rows: usize,
    inputs: usize,
    outputs: usize,
}

impl Sizes {
    /// Returns the sizes of an input `[rows, inputs]` and a weight `[inputs, outputs]`.
    ///
    /// # Panics
    /// Panics if the two do not match.
    fn new(input: [usize; 2], weight: [usize; 2]) -> Self {
        let ([rows, inputs], [weight_inputs, outputs]) = (input, weight);
        assert_eq!(inputs, weight_inputs, "a weight {weight:?} does not match an input {input:?}");
        Self { rows, inputs, outputs }
    }
}
