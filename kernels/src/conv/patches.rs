//! Copies of the values under a kernel.
//!
//! A tile of the output covers a few positions in one row of an image. If a row has few positions, loading the weights
//! takes longer than the multiplications that use them. The gradient of the weights is a sum over positions, to which
//! each image adds its own terms. If an image has few positions, loading and storing the sums takes longer than adding.
//! For such images, the patches are copied, so that the positions of several images are multiplied and added together.

use super::geometry::Geometry;

/// The smallest number of positions in a row for which images are read in place.
const LONG_ROW: usize = 6;

/// The smallest number of positions that are multiplied or added together.
const POSITIONS: usize = 32;

/// Returns the number of images whose positions are multiplied or added together, or `None` if images are read in
/// place.
pub(super) fn images_at_once(geometry: Geometry) -> Option<usize> {
    (geometry.output_width() < LONG_ROW).then(|| POSITIONS.div_ceil(geometry.positions()))
}

/// Appends the patches of a padded image: `[positions, patch]`.
pub(super) fn append_patches<T: Copy>(geometry: Geometry, image: &[T], patches: &mut Vec<T>) {
    let Geometry { inputs, kernel, stride, .. } = geometry;
    let (row, length) = (geometry.padded_width() * inputs, kernel * inputs);
    for y in 0..geometry.output_height() {
        for x in 0..geometry.output_width() {
            let first = y * stride * row + x * stride * inputs;
            for start in (first..).step_by(row).take(kernel) {
                patches.extend_from_slice(&image[start..start + length]);
            }
        }
    }
}
