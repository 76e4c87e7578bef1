use pulp::Arch;

use super::geometry::Geometry;
use crate::products::{Aligned, Grid, Unrectified, columns_here};

/// The gradient of one image's output before the rectifier, padded with as many zeros as the kernel reaches beyond the
/// border.
pub(super) struct OutputGradient {
    geometry: Geometry,
    /// `[height, width, outputs]`, and one more panel, because whole vectors are read at each position.
    values: Aligned,
}

impl OutputGradient {
    pub(super) fn new(geometry: Geometry) -> Self {
        let border = geometry.border();
        let [height, width] =
            [geometry.output_height(), geometry.output_width()].map(|side| side + 2 * border);
        Self { geometry, values: Aligned::zeros(height * width * geometry.outputs + columns_here()) }
    }

    /// Returns the number of values per row.
    pub(super) fn row(&self) -> usize {
        (self.geometry.output_width() + 2 * self.geometry.border()) * self.geometry.outputs
    }

    pub(super) fn values(&self) -> &[f32] {
        self.values.values()
    }

    /// Returns the offset of the first value of an output row.
    pub(super) fn start(&self, y: usize) -> usize {
        let border = self.geometry.border();
        (y + border) * self.row() + border * self.geometry.outputs
    }

    /// Reads the gradient of an output. `rectified` is the output itself if it was rectified.
    pub(super) fn read(&mut self, gradient: &[f32], rectified: Option<&[f32]>) {
        let length = self.geometry.output_width() * self.geometry.outputs;
        let arch = Arch::new();
        for (y, gradient) in gradient.chunks_exact(length).enumerate() {
            let start = self.start(y);
            let result = &mut self.values.values_mut()[start..start + length];
            match rectified {
                None => result.copy_from_slice(gradient),
                Some(output) => {
                    arch.dispatch(Unrectified { gradient, output: &output[y * length..][..length], result });
                }
            }
        }
    }

    /// Appends the values without the zeros around them.
    pub(super) fn append_to(&self, values: &mut Vec<f32>) {
        let length = self.geometry.output_width() * self.geometry.outputs;
        for y in 0..self.geometry.output_height() {
            values.extend_from_slice(&self.values.values()[self.start(y)..][..length]);
        }
    }

    /// Appends the values without the zeros around them. `rounded` are all values, rounded.
    pub(super) fn append_rounded(&self, rounded: &[u16], values: &mut Vec<u16>) {
        let length = self.geometry.output_width() * self.geometry.outputs;
        for y in 0..self.geometry.output_height() {
            values.extend_from_slice(&rounded[self.start(y)..][..length]);
        }
    }

    /// Writes the values with positions last: `[rows, height, width]`, padded with zeros. `rounded` are all values,
    /// rounded.
    pub(super) fn transpose(&self, rounded: &[u16], rows: usize, width: usize, values: &mut Vec<u16>) {
        let (height, outputs) = (self.geometry.output_height(), self.geometry.outputs);
        // The zeros of the previous image are still in place.
        values.resize(rows * height * width, 0);
        for y in 0..height {
            let row = &rounded[self.start(y)..][..self.geometry.output_width() * outputs];
            for (x, position) in row.chunks_exact(outputs).enumerate() {
                for (output, &value) in position.iter().enumerate() {
                    values[(output * height + y) * width + x] = value;
                }
            }
        }
    }

    /// Returns the positions of some rows, and their values starting at the first column of a panel.
    pub(super) fn rows(&self, first: usize, height: usize, column: usize) -> (&[f32], Grid) {
        let width = self.geometry.output_width();
        let grid = Grid { height, width, row_step: self.row(), step: self.geometry.outputs };
        (&self.values.values()[self.start(first) + column..], grid)
    }
}
