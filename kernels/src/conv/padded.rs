//! Zeros around images.

use super::geometry::Geometry;

/// Returns an image with its padding. The result is written to `buffer`, which is reused, unless there is no
/// padding.
pub(super) fn padded<'a>(geometry: Geometry, image: &'a [f32], buffer: &'a mut Vec<f32>) -> &'a [f32] {
    let Geometry { width, inputs, padding, .. } = geometry;
    if padding == 0 {
        return image;
    }
    let padded_row = geometry.padded_width() * inputs;
    // The zeros of the previous image are still in place.
    buffer.resize(geometry.padded_height() * padded_row, 0.0);
    for (y, row) in image.chunks_exact(width * inputs).enumerate() {
        let start = (y + padding) * padded_row + padding * inputs;
        buffer[start..start + row.len()].copy_from_slice(row);
    }
    buffer
}
