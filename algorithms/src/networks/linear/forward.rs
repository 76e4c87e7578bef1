//! The forward pass over a batch.

use std::mem::MaybeUninit;

use rayon::prelude::*;

use super::Sizes;
use crate::networks::products::{Affine, Panels, Rows};

/// Number of rows that a thread multiplies at once. They stay in the second-level cache while the panels of the weight pass
/// over them.
const PART_ROWS: usize = 60;

/// Number of rows from which packing the weight pays.
const MANY_ROWS: usize = 32;

/// Computes `input * weight + bias`, optionally rectified: `[rows, outputs]`.
pub(super) fn forward(sizes: Sizes, input: &[f32], weight: &[f32], bias: &[f32], rectify: bool) -> Vec<f32> {
    assert_eq!(bias.len(), sizes.outputs);
    let affine = if sizes.rows < MANY_ROWS {
        Affine::in_place(weight, bias, rectify)
    } else {
        Affine::new(Panels::of(weight, sizes.outputs), bias, rectify)
    };
    multiply(&affine, input, sizes.inputs)
}

/// Applies a layer to `[rows, length]`: `[rows, outputs]`.
#[allow(unsafe_code)]
pub(super) fn multiply(affine: &Affine<'_>, left: &[f32], length: usize) -> Vec<f32> {
    let (rows, columns) = (left.len() / length, affine.outputs());
    let mut result = Box::new_uninit_slice(rows * columns);
    let parts = result.par_chunks_mut(PART_ROWS * columns);
    left.par_chunks(PART_ROWS * length).zip(parts).for_each(
        |(values, result): (_, &mut [MaybeUninit<f32>])| {
            let left = Rows { values, count: values.len() / length, step: length, runs: &[0], length };
            for panel in 0..affine.panels() {
                affine.multiply(left, panel, result);
            }
        },
    );
    // SAFETY: the products of each part write its rows in all columns.
    unsafe { result.assume_init() }.into_vec()
}
