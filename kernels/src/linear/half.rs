//! The passes over a batch with products of 16-bit numbers. Inputs, weights and gradients are rounded to `bf16` before
//! they are multiplied; all sums have 32 bits.

use std::mem::MaybeUninit;

use rayon::prelude::*;

use super::Sizes;
use super::row_sums::sums_of_rows;
use crate::products::Panels;
use crate::products::half::{
    BLOCK_ROWS, Bf16Arithmetic, HalfPanels, HalfProduct, HalfRows, round_all, round_transposed,
};

/// Rows of the left factor that a thread multiplies at once.
const PART_ROWS: usize = 64;

/// Computes `input * weight + bias`, optionally rectified: `[rows, outputs]`. The weight is packed from
/// `[inputs, outputs]`.
pub(super) fn forward(
    sizes: Sizes,
    input: &[f32],
    weight: &HalfPanels,
    bias: &[f32],
    rectify: bool,
    arithmetic: Bf16Arithmetic,
) -> Vec<f32> {
    assert_eq!(bias.len(), sizes.outputs);
    let least = if rectify { 0.0 } else { f32::NEG_INFINITY };
    multiply(&rounded(input), sizes.inputs, weight, (bias, least), arithmetic)
}

/// Computes the gradient of the input, `[rows, inputs]`, given the gradient of the output before the rectifier.
pub(super) fn gradient_of_input(
    sizes: Sizes,
    weight: &[f32],
    gradient: &[f32],
    arithmetic: Bf16Arithmetic,
) -> Vec<f32> {
    let weight = HalfPanels::pack_transposed(weight, sizes.inputs);
    multiply(&rounded(gradient), sizes.outputs, &weight, (&[], f32::NEG_INFINITY), arithmetic)
}

/// Computes the gradients of weight and bias, given the gradient of the output before the rectifier.
pub(super) fn gradients_of_parameters(
    sizes: Sizes,
    input: &[f32],
    gradient: &[f32],
    arithmetic: Bf16Arithmetic,
) -> (Vec<f32>, Vec<f32>) {
    let Sizes { rows, inputs, outputs } = sizes;
    let right = HalfPanels::pack(gradient, 1, rows, outputs);
    let mut left = round_transposed(input, inputs, rows);
    left.resize(left.len() + BLOCK_ROWS, 0);
    let weight = multiply(&left, rows, &right, (&[], f32::NEG_INFINITY), arithmetic);
    (weight, sums_of_rows(&Panels::pack_rows(gradient, outputs), rows))
}

/// Computes `left * right`, `[rows, columns]`. `left` has rows of `length` values, and a block of zeros behind them.
#[allow(unsafe_code)]
fn multiply(
    left: &[u16],
    length: usize,
    right: &HalfPanels,
    (bias, least): (&[f32], f32),
    arithmetic: Bf16Arithmetic,
) -> Vec<f32> {
    let (count, columns) = ((left.len() - BLOCK_ROWS) / length, right.columns());
    let mut result: Box<[MaybeUninit<f32>]> = Box::new_uninit_slice(count * columns);
    result.par_chunks_mut(PART_ROWS * columns).enumerate().for_each(|(part, result)| {
        let values = &left[part * PART_ROWS * length..];
        let left = HalfRows { values, count: result.len() / columns, step: length, runs: &[0], length };
        HalfProduct { left, right, first_run: 0, bias, least, result, result_step: columns }.run(arithmetic);
    });
    // SAFETY: the products of each part write its rows in all columns.
    unsafe { result.assume_init() }.into_vec()
}

/// Rounds a matrix. Appends a block of zeros.
fn rounded(matrix: &[f32]) -> Vec<u16> {
    let mut rounded = vec![0; matrix.len() + BLOCK_ROWS];
    round_all(matrix, &mut rounded[..matrix.len()]);
    rounded
}
