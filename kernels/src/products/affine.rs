use std::mem::MaybeUninit;

use pulp::Arch;

use super::panel::{MAX_COLUMNS, Panels};
use super::product::{Product, Rows};

/// The weights and biases of a layer that computes `max(rows * weight + bias, least)`.
pub(crate) struct Affine<'a> {
    weight: Weight<'a>,
    /// `[1, outputs]`.
    bias: Panels,
    least: f32,
    outputs: usize,
}

/// A matrix `[inputs, outputs]`. Products with both variants are bit-identical.
enum Weight<'a> {
    Packed(Panels),
    /// Only the last panel is packed, if the outputs do not fill it.
    InPlace {
        matrix: &'a [f32],
        last: Panels,
    },
}

impl<'a> Affine<'a> {
    /// Returns a layer with packed weights and a bias of `[outputs]`. Negative results become 0 if `rectify` is true.
    pub(crate) fn new(weight: Panels, bias: &[f32], rectify: bool) -> Self {
        Self::with_weight(Weight::Packed(weight), bias, rectify)
    }

    /// Like [`new`](Self::new), without packing weights in row-major order. Faster for few rows.
    pub(crate) fn in_place(weight: &'a [f32], bias: &[f32], rectify: bool) -> Self {
        let outputs = bias.len();
        let packed = Panels::pack_last_columns(weight, outputs);
        Self::with_weight(Weight::InPlace { matrix: weight, last: packed }, bias, rectify)
    }

    fn with_weight(weight: Weight<'a>, bias: &[f32], rectify: bool) -> Self {
        let outputs = bias.len();
        let least = if rectify { 0.0 } else { f32::NEG_INFINITY };
        Self { weight, bias: Panels::pack_rows(bias, outputs), least, outputs }
    }

    /// Returns the number of outputs.
    pub(crate) fn outputs(&self) -> usize {
        self.outputs
    }

    /// Returns the number of panels of the weight.
    pub(crate) fn panels(&self) -> usize {
        self.bias.count()
    }

    /// Writes the columns of a panel to `result`, `[rows, outputs]`.
    pub(crate) fn multiply(&self, left: Rows<'_>, panel: usize, result: &mut [MaybeUninit<f32>]) {
        let width = self.bias.width();
        let columns = self.bias.shown_columns(panel);
        let (right, right_step) = match &self.weight {
            Weight::Packed(panels) => (panels.panel(panel), width),
            Weight::InPlace { matrix, .. } if columns == width => (&matrix[panel * width..], self.outputs),
            Weight::InPlace { last, .. } => (last.panel(0), width),
        };
        let mut bias = [0.0; MAX_COLUMNS];
        bias[..width].copy_from_slice(self.bias.panel(panel));
        Arch::new().dispatch(Product {
            left,
            right,
            right_step,
            bias: &bias,
            least: self.least,
            result: &mut result[panel * width..],
            result_step: self.outputs,
            columns,
        });
    }
}
