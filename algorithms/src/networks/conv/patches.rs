//! Images to patches and back. A patch is what lies under the kernel at one position, as one row of a matrix: kernel
//! row after kernel row, each of which is one piece of memory in an image with the channels last.

use super::geometry::Geometry;

/// Appends the patches of `image`, `[positions, patch]`, to `patches`.
pub(super) fn gather(geometry: Geometry, image: &[f32], patches: &mut Vec<f32>) {
    let piece = geometry.kernel * geometry.inputs;
    for corner in corners(geometry) {
        for start in pieces(geometry, corner) {
            patches.extend_from_slice(&image[start..start + piece]);
        }
    }
}

/// Adds patches, `[positions, patch]`, to the places in `image` that [`gather`] took them from.
pub(super) fn scatter(geometry: Geometry, patches: &[f32], image: &mut [f32]) {
    let piece = geometry.kernel * geometry.inputs;
    let starts = corners(geometry).flat_map(|corner| pieces(geometry, corner));
    for (start, patch) in starts.zip(patches.chunks_exact(piece)) {
        for (pixel, part) in image[start..start + piece].iter_mut().zip(patch) {
            *pixel += part;
        }
    }
}

/// Where each patch begins in an image, in the order of the positions.
fn corners(geometry: Geometry) -> impl Iterator<Item = usize> {
    let row = geometry.width * geometry.inputs;
    (0..geometry.output_height()).flat_map(move |y| {
        (0..geometry.output_width()).map(move |x| (y * row + x * geometry.inputs) * geometry.stride)
    })
}

/// Where each kernel row of the patch at `corner` begins.
fn pieces(geometry: Geometry, corner: usize) -> impl Iterator<Item = usize> {
    let row = geometry.width * geometry.inputs;
    (0..geometry.kernel).map(move |y| corner + y * row)
}
