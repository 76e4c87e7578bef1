//! Layer normalisation (Ba et al. 2016, <https://arxiv.org/abs/1607.06450>) with an optional ReLU: a fused operation on
//! the CPU, burn's elsewhere.
//!
//! burn composes it from a dozen operations, each a pass over the values, most of them with a broadcast operand.
//!
//! * `rows`: the passes over the rows of a batch, in parallel
//! * `extension`: the operation in burn's terms

#![allow(
    clippy::inline_always,
    reason = "code over vectors must be compiled into the caller that has enabled their instructions"
)]

mod extension;
mod rows;
#[cfg(test)]
mod tests;

use burn::tensor::activation::relu;
use burn::tensor::module::layer_norm as burn_layer_norm;
use burn::tensor::{Device, Tensor};

/// Added to variances for numerical stability.
const EPSILON: f64 = 1e-5;

/// Normalises each row of `[rows, width]` to mean 0 and variance 1, multiplies it by `gamma`, adds `beta`, and sets
/// negative values to 0 if `rectify` is true. `gamma` and `beta` are `[width]`; everything is `f32`.
pub fn layer_norm(values: Tensor<2>, gamma: Tensor<1>, beta: Tensor<1>, rectify: bool) -> Tensor<2> {
    if values.device() == Device::flex() {
        extension::layer_norm(values, gamma, beta, rectify)
    } else {
        composed(values, gamma, beta, rectify)
    }
}

/// Computes the same with burn's operations, on any device.
fn composed(values: Tensor<2>, gamma: Tensor<1>, beta: Tensor<1>, rectify: bool) -> Tensor<2> {
    let normal = burn_layer_norm(values, gamma, Some(beta), EPSILON);
    if rectify { relu(normal) } else { normal }
}
