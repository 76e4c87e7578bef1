//! The gradient of a convolution's input.
//!
//! A pixel of the input is under the kernel at up to `taps * taps` positions, where `taps` is the size of the kernel
//! divided by the stride. Pixels that have the same coordinates modulo the stride form a *phase* and are under the same
//! weights. The gradient of each phase is therefore a convolution of the output's gradient with these weights, in
//! reverse order and with stride 1.

use std::mem::MaybeUninit;

use pulp::Arch;

use super::geometry::Geometry;
use super::output_gradient::OutputGradient;
use crate::products::{MAX_COLUMNS, Panels, Product, Rows};

/// The weights of a convolution, packed for the gradient of its input.
pub(super) struct InputGradient {
    geometry: Geometry,
    /// The weights of each phase: `[taps, taps, outputs, inputs]`, both taps in reverse order.
    phases: Vec<(Phase, Panels)>,
}

/// The pixels whose coordinates in the padded image are `y` and `x` modulo the stride.
#[derive(Clone, Copy)]
pub(super) struct Phase {
    geometry: Geometry,
    y: usize,
    x: usize,
}

/// The pixels of a phase in a row of an image.
pub(super) struct PhaseRow {
    /// The kernel rows that cover the pixels begin with this one.
    pub(super) first_tap: usize,
    /// The value of the output's gradient under the first pixel in each of these kernel rows.
    pub(super) runs: Vec<usize>,
    /// The first value of the first pixel.
    pub(super) start: usize,
    /// The number of pixels that the kernel covers.
    pub(super) covered: usize,
    /// The values of the other pixels begin here, one pixel after the other.
    uncovered: Vec<usize>,
}

impl PhaseRow {
    /// Writes zeros to the pixels that the kernel does not cover.
    pub(super) fn fill_uncovered(&self, inputs: usize, result: &mut [MaybeUninit<f32>]) {
        for &pixel in &self.uncovered {
            result[pixel..pixel + inputs].fill(MaybeUninit::new(0.0));
        }
    }
}

impl InputGradient {
    /// Packs `[kernel, kernel, inputs, outputs]`.
    pub(super) fn new(geometry: Geometry, weight: &[f32]) -> Self {
        let rows = geometry.taps() * geometry.taps() * geometry.outputs;
        let phases = Phase::all(geometry).map(|phase| {
            (phase, Panels::pack(rows, geometry.inputs, |row, input| phase.weight(weight, row, input)))
        });
        Self { geometry, phases: phases.collect() }
    }

    /// Writes the gradient of every pixel of one image, without padding.
    pub(super) fn run(&self, output: &OutputGradient, result: &mut [MaybeUninit<f32>]) {
        let Geometry { inputs, stride, outputs, .. } = self.geometry;
        let length = self.geometry.taps() * outputs;
        for (phase, weight) in &self.phases {
            for row in phase.rows(output.row()) {
                row.fill_uncovered(inputs, result);
                if row.covered == 0 {
                    continue;
                }
                for panel in 0..weight.count() {
                    let panel_width = weight.width();
                    Arch::new().dispatch(Product {
                        left: Rows {
                            values: output.values(),
                            count: row.covered,
                            step: outputs,
                            runs: &row.runs,
                            length,
                            element_step: 1,
                        },
                        right: &weight.panel(panel)[row.first_tap * length * panel_width..],
                        right_step: panel_width,
                        bias: &[0.0; MAX_COLUMNS],
                        least: f32::NEG_INFINITY,
                        result: &mut result[row.start + panel * panel_width..],
                        result_step: stride * inputs,
                        columns: weight.shown_columns(panel),
                    });
                }
            }
        }
    }
}

impl Phase {
    /// Returns all phases.
    pub(super) fn all(geometry: Geometry) -> impl Iterator<Item = Self> {
        let stride = geometry.stride;
        (0..stride * stride).map(move |phase| Self { geometry, y: phase / stride, x: phase % stride })
    }

    /// Returns an element of the phase's weights, `[taps * taps * outputs, inputs]`, given all weights.
    pub(super) fn weight(self, weight: &[f32], row: usize, input: usize) -> f32 {
        let Geometry { inputs, kernel, stride, outputs, .. } = self.geometry;
        let taps = self.geometry.taps();
        let (tap, output) = (row / outputs, row % outputs);
        let offset = |phase: usize, tap: usize| phase + stride * (taps - 1 - tap);
        let (y, x) = (offset(self.y, tap / taps), offset(self.x, tap % taps));
        if y < kernel && x < kernel {
            weight[((y * kernel + x) * inputs + input) * outputs + output]
        } else {
            0.0
        }
    }

    /// Returns the phase's pixels row by row. A row of the output's gradient has `gradient_row` values.
    pub(super) fn rows(self, gradient_row: usize) -> impl Iterator<Item = PhaseRow> {
        let Geometry { height, padding, stride, .. } = self.geometry;
        // Rows of the padded image: the first one of the phase in the image itself, and those after it.
        let first = self.y + padding.saturating_sub(self.y).next_multiple_of(stride);
        (first..padding + height).step_by(stride).map(move |y| self.row(y, gradient_row))
    }

    /// Returns the phase's pixels in row `y` of the padded image.
    fn row(self, y: usize, gradient_row: usize) -> PhaseRow {
        let Geometry { width, inputs, padding, stride, outputs, .. } = self.geometry;
        let (taps, border) = (self.geometry.taps(), self.geometry.border());
        let first_x = self.x + padding.saturating_sub(self.x).next_multiple_of(stride);
        let end_x = (padding + width).min(self.x + (self.geometry.output_width() + border) * stride);
        let position = y / stride;
        // Rows of the output's gradient, without those that are zeros.
        let rows = border.saturating_sub(position)
            ..taps.min((self.geometry.output_height() + border).saturating_sub(position));
        // The kernel covers no pixels beyond its last position, nor all of them if it is smaller than the stride.
        let end_x = if rows.is_empty() { first_x } else { end_x.max(first_x) };
        let pixel = |x: usize| ((y - padding) * width + x - padding) * inputs;
        let covered = (end_x - first_x).div_ceil(stride);
        let uncovered = (first_x + covered * stride..padding + width).step_by(stride).map(pixel).collect();
        let first = (first_x / stride) * outputs;
        PhaseRow {
            first_tap: rows.start,
            runs: rows.map(|tap| (position + tap) * gradient_row + first).collect(),
            // There may be no pixel.
            start: if covered == 0 { 0 } else { pixel(first_x) },
            covered,
            uncovered,
        }
    }
}
