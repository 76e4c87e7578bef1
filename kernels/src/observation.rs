#![allow(
    clippy::inline_always,
    reason = "code over vectors must be compiled into the caller that has enabled their instructions"
)]

use std::mem::MaybeUninit;

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

/// The largest number of images in an observation of several parts.
pub const MAX_IMAGES: usize = 4;

/// The shape of an image.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImageShape {
    /// Colours or stacked frames.
    pub channels: usize,
    /// Height in pixels.
    pub height: usize,
    /// Width in pixels.
    pub width: usize,
}

impl ImageShape {
    /// Returns the number of bytes.
    pub fn length(self) -> usize {
        self.channels * self.height * self.width
    }
}

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
    /// Images one after the other, each as [`Images`](Self::Images), and a vector of floats at the next multiple of
    /// four bytes.
    Mixed {
        /// The images; those after the last one are empty.
        images: [ImageShape; MAX_IMAGES],
        /// The number of floats.
        floats: usize,
    },
}

impl ObservationLayout {
    /// Returns the number of values of one observation.
    pub fn length(self) -> usize {
        match self {
            Self::Images { channels, height, width } => channels * height * width,
            Self::Bytes { length } | Self::Floats { length } => length,
            Self::Mixed { floats, .. } => self.images().map(ImageShape::length).sum::<usize>() + floats,
        }
    }

    /// Returns the images of an observation.
    pub fn images(self) -> impl Iterator<Item = ImageShape> {
        let images = match self {
            Self::Images { channels, height, width } => {
                let mut images = [ImageShape::default(); MAX_IMAGES];
                images[0] = ImageShape { channels, height, width };
                images
            }
            Self::Mixed { images, .. } => images,
            Self::Bytes { .. } | Self::Floats { .. } => Default::default(),
        };
        images.into_iter().filter(|image| image.length() > 0)
    }

    /// Returns true if an observation has an image.
    pub fn has_images(self) -> bool {
        self.images().next().is_some()
    }

    /// Returns the place of the floats of [`Mixed`](Self::Mixed) observations in a row.
    fn start_of_floats(self) -> usize {
        self.images().map(ImageShape::length).sum::<usize>().next_multiple_of(size_of::<f32>())
    }

    /// Returns the number of bytes of one observation.
    pub fn row_bytes(self) -> usize {
        match self {
            Self::Images { .. } | Self::Bytes { .. } | Self::Mixed { floats: 0, .. } => self.length(),
            Self::Floats { length } => length * size_of::<f32>(),
            Self::Mixed { floats, .. } => self.start_of_floats() + floats * size_of::<f32>(),
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
            Self::Floats { .. } => decode_floats(row, values),
            Self::Mixed { .. } => {
                let (mut bytes, mut values) = (row, values);
                for ImageShape { channels, height, width } in self.images() {
                    let (row, image);
                    (row, bytes) = bytes.split_at(channels * height * width);
                    (image, values) = values.split_at_mut(row.len());
                    let pixels = height * width;
                    Arch::new().dispatch(ChannelsLast { row, pixels, channels, values: image });
                }
                decode_floats(row.get(self.start_of_floats()..).unwrap_or_default(), values);
            }
        }
    }
}

/// Writes the floats of a row.
fn decode_floats(row: &[u8], values: &mut [MaybeUninit<f32>]) {
    let (floats, _) = row.as_chunks();
    assert_eq!(floats.len(), values.len());
    for (value, &bytes) in values.iter_mut().zip(floats) {
        value.write(f32::from_ne_bytes(bytes));
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
    fn images_and_floats_are_converted_part_by_part() {
        let image = |channels, height, width| ImageShape { channels, height, width };
        let images = [image(2, 1, 2), image(1, 1, 1), ImageShape::default(), ImageShape::default()];
        let layout = ObservationLayout::Mixed { images, floats: 2 };
        assert_eq!((layout.length(), layout.row_bytes()), (7, 16));
        let mut row = vec![0, 51, 102, 255, 204, 9, 9, 9];
        row.extend([0.5_f32, -2.0].into_iter().flat_map(f32::to_ne_bytes));
        assert_eq!(layout.values(&row), [0.0, 0.4, 0.2, 1.0, 0.8, 0.5, -2.0]);
        let without = ObservationLayout::Mixed { images, floats: 0 };
        assert_eq!((without.row_bytes(), without.values(&row[..5]).len()), (5, 5));
        assert!(layout.has_images() && !ObservationLayout::Floats { length: 2 }.has_images());
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
