use burn::tensor::{Device, Tensor, TensorData};
use rand::Rng;
use rayon::prelude::*;

use crate::networks::ObservationLayout;
use crate::networks::standard_normal;

/// The largest shift along an axis, in pixels.
const MAX_SHIFT: i32 = 4;
/// The standard deviation of the brightness factor.
const BRIGHTNESS_STD: f64 = 0.05;
/// The largest change of the brightness factor, in standard deviations.
const MAX_BRIGHTNESS_DEVIATIONS: f64 = 2.0;

/// A random change of an image that preserves its meaning: a shift, which repeats the pixels at the edge, and a
/// brightness factor. Their magnitudes are those of `DrQ` (Kostrikov et al. 2020, "Image augmentation is all you need",
/// <https://arxiv.org/abs/2004.13649>, appendix F).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Distortion {
    /// The numbers of rows and columns by which the image moves up and to the left; negative for down and to the right.
    shift: [i32; 2],
    /// The factor of all pixels.
    brightness: f32,
}

impl Distortion {
    /// Draws a distortion: two integers and a normal value, in this order, on which the course of training depends.
    pub(super) fn draw(rng: &mut impl Rng) -> Self {
        let mut shift = || rng.random_range(-MAX_SHIFT..=MAX_SHIFT);
        let shift = [shift(), shift()];
        let brightness = 1.0
            + BRIGHTNESS_STD
                * standard_normal(rng).clamp(-MAX_BRIGHTNESS_DEVIATIONS, MAX_BRIGHTNESS_DEVIATIONS);
        Self { shift, brightness: brightness as f32 }
    }

    /// Shifts a plane of `width` columns from `from` to `to`.
    fn shift_plane(&self, from: &[u8], to: &mut [u8], width: usize) {
        let height = from.len() / width;
        // Beyond the edge, the pixels at the edge repeat.
        let source_coordinate = |coordinate: usize, by: i32, end: usize| {
            coordinate.saturating_add_signed(by as isize).min(end - 1)
        };
        for (y, row) in to.chunks_exact_mut(width).enumerate() {
            let source = &from[source_coordinate(y, self.shift[0], height) * width..][..width];
            for (x, pixel) in row.iter_mut().enumerate() {
                *pixel = source[source_coordinate(x, self.shift[1], width)];
            }
        }
    }
}

/// Returns observations, each changed by its distortion. `distortions` has one for each row, or none, which changes
/// nothing; if there are any, the observations must be images.
///
/// `rows` are stored one after another, and an image in them has a plane of bytes for each channel. In the result,
/// `[rows, length]`, images have the channels last and are divided by 255.
pub(super) fn distorted(
    mut rows: Vec<u8>,
    distortions: &[Distortion],
    layout: ObservationLayout,
    device: &Device,
) -> Tensor<2> {
    let ObservationLayout::Images { height, width, .. } = layout else {
        assert!(distortions.is_empty(), "only images can be distorted");
        return layout.tensor(rows.chunks_exact(layout.row_bytes()), device);
    };
    rows.par_chunks_exact_mut(layout.row_bytes()).zip(distortions).for_each(|(row, distortion)| {
        let original = row.to_vec();
        let planes = original.chunks_exact(height * width).zip(row.chunks_exact_mut(height * width));
        planes.for_each(|(from, to)| distortion.shift_plane(from, to, width));
    });
    let images = layout.tensor(rows.chunks_exact(layout.row_bytes()), device);
    if distortions.is_empty() {
        return images;
    }
    let factors: Vec<f32> = distortions.iter().map(|distortion| distortion.brightness).collect();
    let shape = [factors.len(), 1];
    images * Tensor::from_data(TensorData::new(factors, shape), device)
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;

    #[test]
    fn shifts_repeat_the_edge() {
        let from = [1, 2, 3, 4, 5, 6, 7, 8, 9];
        let shifted = |shift| {
            let mut to = [0; 9];
            Distortion { shift, brightness: 1.0 }.shift_plane(&from, &mut to, 3);
            to
        };
        assert_eq!(shifted([0, 0]), from);
        assert_eq!(shifted([1, 0]), [4, 5, 6, 7, 8, 9, 7, 8, 9]);
        assert_eq!(shifted([0, -2]), [1, 1, 1, 4, 4, 4, 7, 7, 7]);
        assert_eq!(shifted([-1, 1]), [2, 3, 3, 2, 3, 3, 5, 6, 6]);
    }

    #[test]
    fn every_row_has_its_own_distortion_and_all_channels_the_same() {
        let layout = ObservationLayout::Images { channels: 2, height: 36, width: 36 };
        let image: Vec<u8> = (0..layout.length()).map(|index| (index % (36 * 36) % 251) as u8).collect();
        let distortions =
            [Distortion { shift: [1, 0], brightness: 0.5 }, Distortion { shift: [0, -1], brightness: 1.0 }];
        let device = Device::flex();
        let tensor = distorted(image.repeat(2), &distortions, layout, &device);
        let values: Vec<f32> = tensor.try_into_vec_as().unwrap();
        let value = |row: usize, y: usize, x: usize, channel: usize| {
            values[row * layout.length() + (y * 36 + x) * 2 + channel]
        };
        let pixel = |y: usize, x: usize| f32::from(image[y * 36 + x]) / 255.0;
        for channel in 0..2 {
            assert_eq!(value(0, 3, 5, channel), pixel(4, 5) * 0.5);
            assert_eq!(value(0, 35, 5, channel), pixel(35, 5) * 0.5);
            assert_eq!(value(1, 3, 5, channel), pixel(3, 4));
            assert_eq!(value(1, 3, 0, channel), pixel(3, 0));
        }
        let plain = distorted(image.clone(), &[], layout, &device);
        let expected = layout.tensor(std::iter::once(image.as_slice()), &device);
        assert_eq!(plain.into_data(), expected.into_data());
    }

    #[test]
    fn distortions_cover_their_range() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let drawn: Vec<Distortion> = (0..20_000).map(|_| Distortion::draw(&mut rng)).collect();
        for axis in 0..2 {
            for shift in -MAX_SHIFT..=MAX_SHIFT {
                let share = drawn.iter().filter(|distortion| distortion.shift[axis] == shift).count() as f64
                    / 20_000.0;
                // Five standard deviations are 0.011.
                assert!((share - 1.0 / 9.0).abs() < 0.011, "{axis} {shift}: {share}");
            }
        }
        let changes: Vec<f64> =
            drawn.iter().map(|distortion| f64::from(distortion.brightness) - 1.0).collect();
        let largest = MAX_BRIGHTNESS_DEVIATIONS * BRIGHTNESS_STD;
        assert!(changes.iter().all(|change| change.abs() < largest + 1e-6));
        // The deviation of a standard normal value that is clamped to two deviations is 0.959.
        let deviation = (changes.iter().map(|change| change * change).sum::<f64>() / 20_000.0).sqrt();
        assert!((deviation - BRIGHTNESS_STD * 0.959).abs() < 0.002, "{deviation}");
    }
}
