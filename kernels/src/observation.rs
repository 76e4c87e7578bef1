#![allow(
    clippy::inline_always,
    reason = "code over vectors must be compiled into the caller that has enabled their instructions"
)]

use std::mem::MaybeUninit;

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

/// Conversion of the bytes of an observation row into the inputs of a torso.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObservationLayout {
    /// Bytes of shape (channels, height, width): divided by 255, channels moved last.
    Images {
        /// Stacked frames, or colours. The replay buffer of DQN stores a channel once if it repeats in the next
        /// observation, as the frames of a stack do. Colours do not: a buffer of images with three colours holds about
        /// a third of its `buffer_size`.
        channels: usize,
        /// Height in pixels.
        height: usize,
        /// Width in pixels.
        width: usize,
    },
    /// A vector of bytes: divided by 255.
    Bytes {
        /// The number of bytes.
        length: usize,
    },
    /// A vector of floats, unchanged.
    Floats {
        /// The number of floats.
        length: usize,
    },
}

impl ObservationLayout {
    /// Returns the number of values of one observation.
    pub fn length(self) -> usize {
        match self {
            Self::Images { channels, height, width } => channels * height * width,
            Self::Bytes { length } | Self::Floats { length } => length,
        }
    }

    /// Returns the number of bytes of one observation.
    pub fn row_bytes(self) -> usize {
        match self {
            Self::Images { .. } | Self::Bytes { .. } => self.length(),
            Self::Floats { length } => length * size_of::<f32>(),
        }
    }

    /// Converts a row on the host.
    pub fn values(self, row: &[u8]) -> Vec<f32> {
        self.decode_all(std::iter::once(row)).1
    }

    /// Converts rows on the host to `[rows, length]`, in row-major order.
    #[allow(unsafe_code)]
    pub fn decode_all<'a>(self, rows: impl ExactSizeIterator<Item = &'a [u8]>) -> ([usize; 2], Vec<f32>) {
        let rows: Vec<&[u8]> = rows.collect();
        // Not the length of the iterator, which safe code may state wrongly.
        let shape = [rows.len(), self.length()];
        let mut values = Box::new_uninit_slice(shape[0] * shape[1]);
        // A single row is not worth waking threads.
        if let [row] = rows[..] {
            self.decode(row, &mut values);
        } else {
            let values = values.par_chunks_exact_mut(shape[1]);
            rows.into_par_iter().zip(values).for_each(|(row, values)| self.decode(row, values));
        }
        // SAFETY: `decode` has written the values of every row.
        (shape, unsafe { values.assume_init() }.into_vec())
    }

    /// Writes all values of a row.
    fn decode(self, row: &[u8], values: &mut [MaybeUninit<f32>]) {
        assert!(row.len() == self.row_bytes() && values.len() == self.length());
        match self {
            Self::Images { channels, height, width } => {
                Arch::new().dispatch(ChannelsLast { row, pixels: height * width, channels, values });
            }
            Self::Bytes { .. } => units(row, values),
            Self::Floats { .. } => {
                for (value, &bytes) in values.iter_mut().zip(row.as_chunks().0) {
                    value.write(f32::from_ne_bytes(bytes));
                }
            }
        }
    }
}

/// Pixels that are converted together.
const BLOCK: usize = 64;

/// Operation that converts bytes (channels, pixels) to values (pixels, channels) in 0..=1.
struct ChannelsLast<'a> {
    row: &'a [u8],
    pixels: usize,
    channels: usize,
    values: &'a mut [MaybeUninit<f32>],
}

impl WithSimd for ChannelsLast<'_> {
    type Output = ();

    /// Converts the pixels. The compiler vectorises the loops for the instructions of `S`.
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { row, pixels, channels, values } = self;
        if channels == 4 {
            let plane = |channel: usize| &row[channel * pixels..][..pixels];
            return stack_of_four([plane(0), plane(1), plane(2), plane(3)], values);
        }
        for (index, pixel) in values.chunks_exact_mut(channels).enumerate() {
            for (value, plane) in pixel.iter_mut().zip(row.chunks_exact(pixels)) {
                value.write(unit(plane[index]));
            }
        }
    }
}

/// Converts stacks of four frames, the usual number. Bytes are rearranged before their conversion, because that is
/// cheaper than rearranging floats.
#[inline(always)]
fn stack_of_four([first, second, third, fourth]: [&[u8]; 4], values: &mut [MaybeUninit<f32>]) {
    let planes = first.chunks(BLOCK).zip(second.chunks(BLOCK)).zip(third.chunks(BLOCK));
    let planes = planes.zip(fourth.chunks(BLOCK)).zip(values.chunks_mut(4 * BLOCK));
    for ((((first, second), third), fourth), values) in planes {
        let mut bytes = [[0; 4]; BLOCK];
        let pixels = bytes.iter_mut().zip(first).zip(second).zip(third).zip(fourth);
        for ((((pixel, &first), &second), &third), &fourth) in pixels {
            *pixel = [first, second, third, fourth];
        }
        units(&bytes.as_flattened()[..values.len()], values);
    }
}

/// Converts bytes to values in 0..=1.
#[inline(always)]
fn units(bytes: &[u8], values: &mut [MaybeUninit<f32>]) {
    for (value, &byte) in values.iter_mut().zip(bytes) {
        value.write(unit(byte));
    }
}

#[inline(always)]
fn unit(byte: u8) -> f32 {
    f32::from(byte) / 255.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_scaled_with_channels_last() {
        let layout = ObservationLayout::Images { channels: 2, height: 1, width: 3 };
        assert_eq!(layout.values(&[0, 51, 102, 153, 204, 255]), [0.0, 0.6, 0.2, 0.8, 0.4, 1.0]);
    }

    #[test]
    fn stacks_of_four_frames_are_converted_like_other_images() {
        // Two blocks of pixels and a part of a third.
        let pixels = 2 * BLOCK + 5;
        let layout = ObservationLayout::Images { channels: 4, height: 1, width: pixels };
        let row: Vec<u8> = (0..4 * pixels).map(|index| (index * 37 % 256) as u8).collect();
        let expected: Vec<f32> =
            (0..4 * pixels).map(|index| f32::from(row[index % 4 * pixels + index / 4]) / 255.0).collect();
        assert_eq!(layout.values(&row), expected);
    }
}
