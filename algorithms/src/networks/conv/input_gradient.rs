//! The gradient of a convolution's input.
//!
//! A pixel of the input is under the kernel at up to `taps * taps` positions, where `taps` is the size of the kernel
//! divided by the stride. Pixels that have the same coordinates modulo the stride form a *phase* and are under the same
//! weights. The gradient of each phase is therefore a convolution of the output's gradient with these weights, in
//! reverse order and with stride 1.

use std::mem::MaybeUninit;

use pulp::Arch;

use super::backward::OutputGradient;
use super::geometry::Geometry;
use crate::networks::products::{MAX_COLUMNS, Panels, Product, Rows};

/// The weights of a convolution, packed for the gradient of its input.
pub(super) struct InputGradient {
    geometry: Geometry,
    phases: Vec<Phase>,
}

/// The pixels whose coordinates in the padded image are `y` and `x` modulo the stride.
struct Phase {
    y: usize,
    x: usize,
    /// `[taps, taps, outputs, inputs]`, both taps in reverse order.
    weight: Panels,
}

impl InputGradient {
    /// Packs `[kernel, kernel, inputs, outputs]`.
    pub(super) fn new(geometry: Geometry, weight: &[f32]) -> Self {
        let stride = geometry.stride;
        let phases =
            (0..stride * stride).map(|phase| Phase::new(geometry, weight, phase / stride, phase % stride));
        Self { geometry, phases: phases.collect() }
    }

    /// Writes the gradient of every pixel of one image, without padding.
    pub(super) fn run(&self, output: &OutputGradient, result: &mut [MaybeUninit<f32>]) {
        let Geometry { height, padding, stride, .. } = self.geometry;
        for phase in &self.phases {
            // Rows of the padded image: the first one of the phase in the image itself, and those after it.
            let first = phase.y + padding.saturating_sub(phase.y).next_multiple_of(stride);
            for y in (first..padding + height).step_by(stride) {
                self.run_row(phase, y, output, result);
            }
        }
    }

    /// Writes the gradient of the pixels of a phase in row `y` of the padded image.
    fn run_row(&self, phase: &Phase, y: usize, output: &OutputGradient, result: &mut [MaybeUninit<f32>]) {
        let Geometry { width, inputs, padding, stride, outputs, .. } = self.geometry;
        let (taps, border) = (self.geometry.taps(), self.geometry.border());
        let first_x = phase.x + padding.saturating_sub(phase.x).next_multiple_of(stride);
        let end_x = (padding + width).min(phase.x + (self.geometry.output_width() + border) * stride);
        let position = y / stride;
        // Rows of the output's gradient, without those that are zeros.
        let rows = border.saturating_sub(position)
            ..taps.min((self.geometry.output_height() + border).saturating_sub(position));
        // The kernel covers no pixels beyond its last position, nor all of them if it is smaller than the stride.
        let end_x = if rows.is_empty() { first_x } else { end_x.max(first_x) };
        let pixel = |x: usize| ((y - padding) * width + x - padding) * inputs;
        let covered = (end_x - first_x).div_ceil(stride);
        for x in (first_x + covered * stride..padding + width).step_by(stride) {
            result[pixel(x)..][..inputs].fill(MaybeUninit::new(0.0));
        }
        if covered == 0 {
            return;
        }
        let first = (first_x / stride) * outputs;
        let runs: Vec<usize> = rows.clone().map(|tap| (position + tap) * output.row() + first).collect();
        let length = taps * outputs;
        let start = pixel(first_x);
        for panel in 0..phase.weight.count() {
            let panel_width = phase.weight.width();
            Arch::new().dispatch(Product {
                left: Rows {
                    values: output.values(),
                    count: covered,
                    step: outputs,
                    runs: &runs,
                    length,
                    element_step: 1,
                },
                right: &phase.weight.panel(panel)[rows.start * length * panel_width..],
                right_step: panel_width,
                bias: &[0.0; MAX_COLUMNS],
                least: f32::NEG_INFINITY,
                result: &mut result[start + panel * panel_width..],
                result_step: stride * inputs,
                columns: phase.weight.shown_columns(panel),
            });
        }
    }
}

impl Phase {
    fn new(geometry: Geometry, weight: &[f32], y: usize, x: usize) -> Self {
        let Geometry { inputs, kernel, stride, outputs, .. } = geometry;
        let taps = geometry.taps();
        let at = |row: usize, input: usize| {
            let (tap, output) = (row / outputs, row % outputs);
            let offset = |phase: usize, tap: usize| phase + stride * (taps - 1 - tap);
            let (y, x) = (offset(y, tap / taps), offset(x, tap % taps));
            if y < kernel && x < kernel {
                weight[((y * kernel + x) * inputs + input) * outputs + output]
            } else {
                0.0
            }
        };
        Self { y, x, weight: Panels::pack(taps * taps * outputs, inputs, at) }
    }
}
