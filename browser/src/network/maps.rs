//! Convolutions and the feature maps that they compute.

use super::layers::{Rectifier, Sequence};
use super::products::products;
use super::weights::Weights;
use crate::error::FileError;

/// The size of feature maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) channels: usize,
    pub(super) height: usize,
    pub(super) width: usize,
}

impl Size {
    pub(super) fn values(self) -> usize {
        self.channels * self.height * self.width
    }

    /// Brings values in the order channels, height, width into the order of [`Maps`].
    pub(super) fn channels_last<T: Copy>(self, values: &[T]) -> Vec<T> {
        transposed(values, self.channels, self.height * self.width)
    }

    /// Reads the activation behind feature maps of this size.
    pub(super) fn rectifier(self, weights: &Weights, name: &str) -> Result<Rectifier, FileError> {
        let shape = [self.channels, self.height, self.width];
        Rectifier::read(weights, name, shape, |values| self.channels_last(values))
    }

    /// Returns the size after a max pooling of 3 x 3 pixels with stride 2 and a padding of 1 pixel.
    pub(super) fn pooled(self) -> Self {
        Self { height: self.height.div_ceil(2), width: self.width.div_ceil(2), ..self }
    }
}

/// Returns a matrix of `rows * columns` values with its axes exchanged.
fn transposed<T: Copy>(values: &[T], rows: usize, columns: usize) -> Vec<T> {
    (0..columns).flat_map(|column| (0..rows).map(move |row| values[row * columns + column])).collect()
}

/// Feature maps `[height, width, channels]`.
#[derive(Clone, Debug)]
pub(super) struct Maps {
    pub(super) size: Size,
    pub(super) values: Vec<f32>,
}

impl Maps {
    /// Returns the values in the order of PyTorch: channels, height, width.
    pub(super) fn flattened(&self) -> Vec<f32> {
        transposed(&self.values, self.size.height * self.size.width, self.size.channels)
    }

    /// Takes the maximum of 3 x 3 pixels at every second pixel.
    pub(super) fn max_pooled(&self) -> Self {
        let (from, to) = (self.size, self.size.pooled());
        let mut values = vec![f32::NEG_INFINITY; to.values()];
        for (index, pixel) in values.chunks_exact_mut(to.channels).enumerate() {
            let (y, x) = (2 * (index / to.width), 2 * (index % to.width));
            for row in y.saturating_sub(1)..=(y + 1).min(from.height - 1) {
                for column in x.saturating_sub(1)..=(x + 1).min(from.width - 1) {
                    let source = &self.values[(row * from.width + column) * from.channels..];
                    for (value, &other) in pixel.iter_mut().zip(source) {
                        *value = value.max(other);
                    }
                }
            }
        }
        Self { size: to, values }
    }
}

/// A convolution with a square kernel.
#[derive(Clone, Debug)]
pub(super) struct Conv {
    /// `[outputs, side, side, inputs]`.
    weight: Vec<f32>,
    bias: Vec<f32>,
    side: usize,
    stride: usize,
    padding: usize,
}

impl Conv {
    /// Reads a convolution of feature maps. Also returns the size of its results.
    pub(super) fn read(
        weights: &Weights,
        name: &str,
        input: Size,
        stride: usize,
        padding: usize,
    ) -> Result<(Self, Size), FileError> {
        let tensor = format!("{name}.weight");
        let ([outputs, inputs, side, width], values) = weights.get::<4>(&tensor)?;
        let is_possible = inputs == input.channels
            && side == width
            && side <= input.height.min(input.width) + 2 * padding
            && padding < side;
        if !is_possible {
            return Err(FileError::Tensor(tensor));
        }
        let kernel = Size { channels: inputs, height: side, width: side };
        let weight = values.chunks_exact(kernel.values()).flat_map(|values| kernel.channels_last(values));
        let bias = format!("{name}.bias");
        let bias = if weights.has(&bias) {
            weights.of_shape(&bias, [outputs])?.to_vec()
        } else {
            vec![0.0; outputs]
        };
        let conv = Self { weight: weight.collect(), bias, side, stride, padding };
        let size = conv.output(input);
        Ok((conv, size))
    }

    fn output(&self, input: Size) -> Size {
        let along = |length: usize| (length + 2 * self.padding - self.side) / self.stride + 1;
        Size { channels: self.bias.len(), height: along(input.height), width: along(input.width) }
    }

    pub(super) fn apply(&self, maps: &Maps) -> Maps {
        let size = self.output(maps.size);
        let length = self.side * self.side * maps.size.channels;
        let patches = self.patches(maps, size, length);
        Maps { size, values: products(&patches, &self.weight, &self.bias, length) }
    }

    /// Returns what the kernel covers at each pixel of the result: `[pixels, side, side, channels]`, with zeros beyond
    /// the edges.
    fn patches(&self, maps: &Maps, size: Size, length: usize) -> Vec<f32> {
        let Size { channels, height, width } = maps.size;
        let mut patches = vec![0.0; size.height * size.width * length];
        for (index, patch) in patches.chunks_exact_mut(length).enumerate() {
            let (top, left) = (index / size.width * self.stride, index % size.width * self.stride);
            // The columns of the kernel that are within the maps.
            let first = self.padding.saturating_sub(left);
            let last = self.side.min(width + self.padding - left);
            for (row, line) in patch.chunks_exact_mut(self.side * channels).enumerate() {
                let Some(y) = (top + row).checked_sub(self.padding).filter(|&y| y < height) else { continue };
                let source = (y * width + left + first - self.padding) * channels;
                let covered = &mut line[first * channels..last * channels];
                covered.copy_from_slice(&maps.values[source..][..covered.len()]);
            }
        }
        patches
    }
}

/// A convolution and its activation.
#[derive(Clone, Debug)]
pub(super) struct RectifiedConv {
    conv: Conv,
    rectifier: Rectifier,
}

impl RectifiedConv {
    /// Reads a convolution without padding and what follows it, and moves behind them. Also returns the size of its
    /// results.
    pub(super) fn read(
        sequence: &mut Sequence<'_>,
        input: Size,
        stride: usize,
    ) -> Result<(Self, Size), FileError> {
        let (conv, size) = Conv::read(sequence.weights(), &sequence.module(), input, stride, 0)?;
        sequence.skip(1);
        let rectifier = size.rectifier(sequence.weights(), &sequence.module())?;
        sequence.skip(rectifier.modules());
        Ok((Self { conv, rectifier }, size))
    }

    pub(super) fn apply(&self, maps: &Maps) -> Maps {
        let mut maps = self.conv.apply(maps);
        self.rectifier.apply(&mut maps.values);
        maps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition: the sum over the kernel, with zeros beyond the edges.
    fn by_definition(conv: &Conv, maps: &Maps, output: usize, y: usize, x: usize) -> f32 {
        let Size { channels, height, width } = maps.size;
        let mut sum = conv.bias[output];
        for (row, column) in (0..conv.side).flat_map(|row| (0..conv.side).map(move |column| (row, column))) {
            let y = (y * conv.stride + row).wrapping_sub(conv.padding);
            let x = (x * conv.stride + column).wrapping_sub(conv.padding);
            if y < height && x < width {
                for channel in 0..channels {
                    let weight = ((output * conv.side + row) * conv.side + column) * channels + channel;
                    sum += conv.weight[weight] * maps.values[(y * width + x) * channels + channel];
                }
            }
        }
        sum
    }

    #[test]
    fn convolutions_equal_their_definition() {
        let value = |index: usize| (index * 29 % 17) as f32 - 8.0;
        let size = Size { channels: 3, height: 7, width: 9 };
        let maps = Maps { size, values: (0..size.values()).map(value).collect() };
        for (side, stride, padding) in [(3, 1, 1), (3, 2, 0), (2, 2, 0), (7, 1, 3), (5, 4, 0)] {
            let weight = (0..2 * side * side * 3).map(|index| value(index + 5)).collect();
            let conv = Conv { weight, bias: vec![1.0, -2.0], side, stride, padding };
            let results = conv.apply(&maps);
            for (index, pixel) in results.values.chunks_exact(2).enumerate() {
                let (y, x) = (index / results.size.width, index % results.size.width);
                let expected = [0, 1].map(|output| by_definition(&conv, &maps, output, y, x));
                assert_eq!(*pixel, expected, "{side} {stride} {padding}, at {y}, {x}");
            }
        }
    }

    #[test]
    fn pooling_takes_the_maximum_around_every_second_pixel() {
        let size = Size { channels: 1, height: 3, width: 4 };
        let values = vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, -12.0];
        let pooled = Maps { size, values }.max_pooled();
        assert_eq!(pooled.size, Size { channels: 1, height: 2, width: 2 });
        assert_eq!(pooled.values, [6.0, 8.0, 10.0, 11.0]);
    }

    #[test]
    fn channels_first_and_last_are_inverse() {
        let size = Size { channels: 2, height: 1, width: 3 };
        let last = size.channels_last(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!(last, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
        assert_eq!(Maps { size, values: last }.flattened(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    }
}
