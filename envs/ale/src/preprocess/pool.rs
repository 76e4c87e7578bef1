use bytemuck::cast_ref;

use super::avx2::{Avx2, EvenGreys};
use super::avx512::{self, Avx512};
use crate::palette::Palette;
use crate::screen::Row;

/// Converts rows of screen bytes to greyscale or RGB and takes the maximum of two.
#[derive(Clone, Debug)]
pub(super) struct Pool {
    palette: &'static Palette,
    grayscale: bool,
    even_greys: EvenGreys,
    avx2: Option<Avx2>,
    avx512: Option<Avx512>,
}

impl Pool {
    pub(super) fn new(palette: &'static Palette, grayscale: bool) -> Self {
        let mut even_greys = EvenGreys::default();
        for (grey, even) in even_greys.as_flattened_mut().iter_mut().zip(palette.grey.iter().step_by(2)) {
            *grey = *even;
        }
        Self { palette, grayscale, even_greys, avx2: Avx2::detect(), avx512: Avx512::detect() }
    }

    /// Replaces `pooled` by `last` if given, then by the maximum of itself and `previous` if given.
    pub(super) fn row(&self, last: Option<&Row>, previous: Option<&Row>, pooled: &mut [u8]) {
        if !self.grayscale {
            return pool(&self.palette.rgb, last, previous, pooled);
        }
        if let (Some(last), Ok(pooled)) = (last, <&mut Row>::try_from(&mut *pooled)) {
            let rows = [last, previous.unwrap_or(last)];
            let done = match (self.avx512, self.avx2) {
                (Some(avx512), _) => {
                    avx512.pool(cast_ref::<EvenGreys, avx512::EvenGreys>(&self.even_greys), rows, pooled)
                }
                (None, Some(avx2)) => avx2.pool(&self.even_greys, rows, pooled),
                (None, None) => false,
            };
            if done {
                return;
            }
        }
        let greys: &[[u8; 1]; 256] = cast_ref(&self.palette.grey);
        pool(greys, last, previous, pooled);
    }
}

/// [`Pool::row`] for pixels of `N` bytes.
fn pool<const N: usize>(
    colours: &[[u8; N]; 256],
    last: Option<&Row>,
    previous: Option<&Row>,
    pooled: &mut [u8],
) {
    let (pixels, _) = pooled.as_chunks_mut::<N>();
    for (pixel, &byte) in pixels.iter_mut().zip(last.into_iter().flatten()) {
        *pixel = colours[usize::from(byte)];
    }
    // Most rows do not flicker.
    for (pixel, &byte) in pixels.iter_mut().zip(previous.filter(|_| previous != last).into_iter().flatten()) {
        for (value, colour) in pixel.iter_mut().zip(colours[usize::from(byte)]) {
            *value = colour.max(*value);
        }
    }
}

#[cfg(test)]
mod tests {
    use vcs::TvFormat;

    use super::*;

    #[test]
    fn vector_and_scalar_code_agree() {
        let with = Pool::new(Palette::of(TvFormat::Pal), true);
        let narrow = Pool { avx512: None, ..with.clone() };
        let without = Pool { avx2: None, ..narrow.clone() };
        let row = |step: usize, mask: u8| -> Row { std::array::from_fn(|x| (x * step) as u8 & mask) };
        // Only even bytes, then odd ones too, which the vector code does not handle.
        for mask in [0xfe, 0xff] {
            for step in 0..256 {
                let (last, previous) = (row(step, mask), row(step / 2 + 3, mask));
                for (last, previous) in [
                    (Some(&last), Some(&previous)),
                    (Some(&last), Some(&last)),
                    (Some(&last), None),
                    (None, Some(&previous)),
                ] {
                    let pooled = [&with, &narrow, &without].map(|pool| {
                        let mut pooled: Row = [77; _];
                        pool.row(last, previous, &mut pooled);
                        pooled
                    });
                    assert_eq!(pooled[0], pooled[2]);
                    assert_eq!(pooled[1], pooled[2]);
                }
            }
        }
    }
}
