//! The forward pass over a batch.

use std::mem::MaybeUninit;
use std::ops::Range;

use rayon::prelude::*;

use super::Sizes;
use crate::products::{Affine, Panels, Rows};

/// Number of rows that a thread multiplies at once. They stay in the second-level cache while the panels of the weight
/// pass over them.
const PART_ROWS: usize = 60;

/// The smallest number of rows for which packing the weight pays off.
const MANY_ROWS: usize = 32;

/// Computes `input * weight + bias`, optionally rectified: `[rows, outputs]`.
pub(super) fn forward(sizes: Sizes, input: &[f32], weight: &[f32], bias: &[f32], rectify: bool) -> Vec<f32> {
    assert_eq!(bias.len(), sizes.outputs);
    let affine = if sizes.rows < MANY_ROWS {
        Affine::in_place(weight, bias, rectify)
    } else {
        Affine::new(Panels::pack_rows(weight, sizes.outputs), bias, rectify)
    };
    multiply(&affine, sizes.rows, |rows| Rows::of_matrix(input, sizes.inputs, rows))
}

/// Applies a layer to `count` rows: `[count, outputs]`. `left` returns the rows of a range.
#[allow(unsafe_code)]
pub(super) fn multiply<'a>(
    affine: &Affine<'_>,
    count: usize,
    left: impl Fn(Range<usize>) -> Rows<'a> + Sync,
) -> Vec<f32> {
    let columns = affine.outputs();
    let mut result: Box<[MaybeUninit<f32>]> = Box::new_uninit_slice(count * columns);
    result.par_chunks_mut(PART_ROWS * columns).enumerate().for_each(|(part, result)| {
        let first = part * PART_ROWS;
        let left = left(first..(first + PART_ROWS).min(count));
        for panel in 0..affine.panels() {
            affine.multiply(left, panel, result);
        }
    });
    // SAFETY: the products of each part write its rows in all columns.
    unsafe { result.assume_init() }.into_vec()
}
