//! Zeros around images.

use super::geometry::Geometry;
use crate::products::half::{BLOCK_ROWS, round_all};

/// Returns an image with its padding: the image itself if there is none, else the contents of `buffer`.
///
/// The buffer must be empty, or used only by calls of this function for images of the same geometry.
pub(super) fn padded<'a>(geometry: Geometry, image: &'a [f32], buffer: &'a mut Vec<f32>) -> &'a [f32] {
    if geometry.padding == 0 {
        return image;
    }
    write_padded(geometry, image, 0, buffer, |row, padded| padded.copy_from_slice(row));
    buffer
}

/// Returns the contents of `buffer`: an image with its padding, rounded to `bf16`, and zeros behind it that products of
/// whole blocks may read.
///
/// The buffer must be empty, or used only by calls of this function for images of the same geometry.
pub(super) fn padded_half<'a>(geometry: Geometry, image: &[f32], buffer: &'a mut Vec<u16>) -> &'a [u16] {
    write_padded(geometry, image, BLOCK_ROWS, buffer, round_all);
    buffer
}

/// Writes the pixels of an image with `write_row`, row by row, to their places in a padded image. The zeros around
/// them, and those behind the image, are written only if the buffer is empty: an earlier call has left them in place.
fn write_padded<T: Copy + Default>(
    geometry: Geometry,
    image: &[f32],
    zeros_behind: usize,
    buffer: &mut Vec<T>,
    write_row: impl Fn(&[f32], &mut [T]),
) {
    let Geometry { width, inputs, padding, .. } = geometry;
    let padded_row = geometry.padded_width() * inputs;
    buffer.resize(geometry.padded_height() * padded_row + zeros_behind, T::default());
    for (y, row) in image.chunks_exact(width * inputs).enumerate() {
        let start = (y + padding) * padded_row + padding * inputs;
        write_row(row, &mut buffer[start..start + row.len()]);
    }
}
