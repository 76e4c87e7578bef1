//! The forward pass over a batch.

use pulp::Arch;
use rayon::prelude::*;

use super::geometry::Geometry;
use super::padded::padded;
use super::panel::{MAX_COLUMNS, Panels};
use super::product::{Product, Rows};

/// Computes `conv(input, weight) + bias`, optionally rectified: `[images, positions, outputs]`.
pub(super) fn forward(
    geometry: Geometry,
    input: &[f32],
    weight: &[f32],
    bias: &[f32],
    rectify: bool,
) -> Vec<f32> {
    let layer = Layer {
        geometry,
        weight: Panels::pack(geometry.patch(), geometry.outputs, |row, column| {
            weight[row * geometry.outputs + column]
        }),
        biases: Panels::pack(1, geometry.outputs, |_, column| bias[column]),
        least: if rectify { 0.0 } else { f32::NEG_INFINITY },
    };
    let mut output = vec![0.0; geometry.images * geometry.output()];
    let images = input.par_chunks(geometry.image()).zip(output.par_chunks_mut(geometry.output()));
    images.for_each_init(Vec::new, |buffer, (image, output)| {
        layer.run(padded(geometry, image, buffer), output);
    });
    output
}

/// A convolution with packed weights.
struct Layer {
    geometry: Geometry,
    /// `[patch, outputs]`.
    weight: Panels,
    /// `[1, outputs]`.
    biases: Panels,
    /// The least output.
    least: f32,
}

impl Layer {
    /// Computes the output for one image with its padding.
    fn run(&self, image: &[f32], output: &mut [f32]) {
        let Geometry { inputs, kernel, stride, outputs, .. } = self.geometry;
        let arch = Arch::new();
        let row = self.geometry.padded_width() * inputs;
        let output_row = self.geometry.output_width() * outputs;
        let mut runs = vec![0; kernel];
        for panel in 0..self.weight.count() {
            let mut bias = [0.0; MAX_COLUMNS];
            bias[..self.weight.width()].copy_from_slice(self.biases.panel(panel));
            for (y, output) in output.chunks_exact_mut(output_row).enumerate() {
                for (kernel_row, run) in runs.iter_mut().enumerate() {
                    *run = (y * stride + kernel_row) * row;
                }
                arch.dispatch(Product {
                    left: Rows {
                        values: image,
                        count: self.geometry.output_width(),
                        step: stride * inputs,
                        runs: &runs,
                        length: kernel * inputs,
                    },
                    right: self.weight.panel(panel),
                    bias: &bias,
                    least: self.least,
                    result: &mut output[panel * self.weight.width()..],
                    result_step: outputs,
                    columns: self.weight.shown_columns(panel),
                });
            }
        }
    }
}
