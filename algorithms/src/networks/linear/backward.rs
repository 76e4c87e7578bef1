//! The backward pass over a batch. Every sum has a fixed order, so the result is bit-identical on any number of threads.

use std::borrow::Cow;

use pulp::Arch;
use rayon::prelude::*;

use super::Sizes;
use super::forward::multiply;
use crate::networks::products::{Affine, Grid, OuterProducts, Panels, PositionSums, Unrectified};

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

    /// Computes the gradient of the input, `[rows, inputs]`, given that of the output before the rectifier.
    pub(super) fn of_input(&self, gradient: &[f32]) -> Vec<f32> {
        let Sizes { inputs, outputs, .. } = self.sizes;
        let transposed = Panels::pack(outputs, inputs, |row, column| self.weight[column * outputs + row]);
        let affine = Affine::new(transposed, &vec![0.0; inputs], false);
        multiply(&affine, gradient, outputs)
    }

    /// Computes the gradients of weight and bias, given that of the output before the rectifier.
    pub(super) fn of_parameters(&self, gradient: &[f32]) -> (Vec<f32>, Vec<f32>) {
        let Sizes { rows, inputs, outputs } = self.sizes;
        let gradient = Panels::of(gradient, outputs);
        let mut weight = Panels::zeros(inputs, outputs);
        let mut bias = Panels::zeros(1, outputs);
        if rows == 0 {
            return (weight.into_matrix(), bias.into_matrix());
        }
        let (left, width) = (self.input, gradient.width());
        let grid = |step| Grid { height: 1, width: rows, row_step: 0, step };
        let panels = weight.par_panels_mut().zip(bias.par_panels_mut()).enumerate();
        panels.for_each(|(index, (weight, bias))| {
            let (right, right_grid) = (gradient.panel(index), grid(width));
            Arch::new().dispatch(PositionSums { values: right, grid: right_grid, sums: bias });
            Arch::new().dispatch(OuterProducts {
                left,
                left_grid: grid(inputs),
                length: inputs,
                right,
                right_grid,
                sums: weight,
            });
        });
        (weight.into_matrix(), bias.into_matrix())
    }
}
