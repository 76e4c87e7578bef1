//! Kernels that layers share, written in `CubeCL`. A thread writes one vector of adjacent values.

#![allow(
    clippy::used_underscore_binding,
    reason = "the macros of CubeCL read the types of values from arguments"
)]

use burn::cubecl;
use burn::cubecl::prelude::*;

/// Adds a bias to every row. Sets negative sums to 0 if `rectify` is true, but not NaN, which must be detected later.
#[cube(launch_unchecked, address_type = "dynamic")]
pub(super) fn bias_and_relu<F: Float, N: Size>(
    rows: &[Vector<F, N>],
    bias: &[Vector<F, N>],
    output: &mut [Vector<F, N>],
    #[comptime] rectify: bool,
    #[define(F)] _dtype: ElemType,
) {
    if ABSOLUTE_POS >= output.len() {
        terminate!();
    }
    let sum = rows[ABSOLUTE_POS] + bias[ABSOLUTE_POS % bias.len()];
    if rectify {
        let zero = Vector::<F, N>::new(F::from_int(0));
        output[ABSOLUTE_POS] = select_many(sum.less_than(&zero), zero, sum);
    } else {
        output[ABSOLUTE_POS] = sum;
    }
}

/// Sets the gradients of rectified outputs to 0.
#[cube(launch_unchecked, address_type = "dynamic")]
pub(super) fn relu_backward<F: Float, N: Size>(
    gradients: &[Vector<F, N>],
    outputs: &[Vector<F, N>],
    result: &mut [Vector<F, N>],
    #[define(F)] _dtype: ElemType,
) {
    if ABSOLUTE_POS >= result.len() {
        terminate!();
    }
    let zero = Vector::<F, N>::new(F::from_int(0));
    let is_positive = outputs[ABSOLUTE_POS].greater_than(&zero);
    result[ABSOLUTE_POS] = select_many(is_positive, gradients[ABSOLUTE_POS], zero);
}
