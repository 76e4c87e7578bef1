//! Conversion between images and patches. A patch holds the values under the kernel at one position, as one
//! row of a matrix: kernel row by kernel row, each of which is contiguous in an image with channels last.

use super::geometry::Geometry;
use super::product::Matrix;

/// The patches of some images, in a buffer that is reused.
#[derive(Default)]
pub(super) struct Patches {
    /// `[positions, patch]`, image by image.
    pub(super) values: Vec<f32>,
    /// An image with its padding.
    padded: Vec<f32>,
}

impl Patches {
    /// Gathers the patches of `images`.
    pub(super) fn gather(&mut self, geometry: Geometry, images: &[f32]) -> Matrix<'_> {
        let piece = geometry.kernel * geometry.inputs;
        self.values.clear();
        for image in images.chunks_exact(geometry.image()) {
            let image = if geometry.padding == 0 { image } else { pad(geometry, image, &mut self.padded) };
            pieces(geometry).for_each(|start| self.values.extend_from_slice(&image[start..start + piece]));
        }
        Matrix::new(&self.values, self.values.len() / geometry.patch(), geometry.patch())
    }

    /// Adds the patches to the pixels of `images` from which [`gather`](Self::gather) takes them.
    pub(super) fn scatter(&mut self, geometry: Geometry, images: &mut [f32]) {
        let patches = self.values.chunks_exact(geometry.positions() * geometry.patch());
        for (image, patches) in images.chunks_exact_mut(geometry.image()).zip(patches) {
            if geometry.padding == 0 {
                scatter(geometry, patches, image);
                continue;
            }
            self.padded.clear();
            self.padded.resize(geometry.padded_height() * geometry.padded_width() * geometry.inputs, 0.0);
            scatter(geometry, patches, &mut self.padded);
            for (row, padded) in image.chunks_exact_mut(geometry.width * geometry.inputs).zip(rows(geometry))
            {
                row.copy_from_slice(&self.padded[padded..padded + row.len()]);
            }
        }
    }
}

/// Copies `image` with zeros around it into `padded`.
fn pad<'a>(geometry: Geometry, image: &[f32], padded: &'a mut Vec<f32>) -> &'a [f32] {
    padded.clear();
    padded.resize(geometry.padded_height() * geometry.padded_width() * geometry.inputs, 0.0);
    for (row, start) in image.chunks_exact(geometry.width * geometry.inputs).zip(rows(geometry)) {
        padded[start..start + row.len()].copy_from_slice(row);
    }
    padded
}

/// Returns the offset of each row of an image in the padded image.
fn rows(geometry: Geometry) -> impl Iterator<Item = usize> {
    let Geometry { height, inputs, padding, .. } = geometry;
    (padding..padding + height).map(move |y| (y * geometry.padded_width() + padding) * inputs)
}

/// Adds the patches of one image to a padded image.
fn scatter(geometry: Geometry, patches: &[f32], image: &mut [f32]) {
    let piece = geometry.kernel * geometry.inputs;
    for (start, patch) in pieces(geometry).zip(patches.chunks_exact(piece)) {
        for (pixel, part) in image[start..start + piece].iter_mut().zip(patch) {
            *pixel += part;
        }
    }
}

/// Returns the offset of each kernel row of each patch in a padded image, in the order of the positions.
fn pieces(geometry: Geometry) -> impl Iterator<Item = usize> {
    let row = geometry.padded_width() * geometry.inputs;
    let corners = (0..geometry.output_height()).flat_map(move |y| {
        (0..geometry.output_width()).map(move |x| (y * row + x * geometry.inputs) * geometry.stride)
    });
    corners.flat_map(move |corner| (0..geometry.kernel).map(move |y| corner + y * row))
}
