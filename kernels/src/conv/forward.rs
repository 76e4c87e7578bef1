//! The forward pass over a batch.

use std::mem::MaybeUninit;

use rayon::prelude::*;

use super::geometry::Geometry;
use super::padded::padded;
use super::patches::{append_patches, images_at_once};
use crate::products::{Affine, Panels, Rows};

/// Computes `conv(input, weight) + bias`, optionally rectified: `[images, positions, outputs]`.
#[allow(unsafe_code)]
pub(super) fn forward(
    geometry: Geometry,
    input: &[f32],
    weight: &[f32],
    bias: &[f32],
    rectify: bool,
) -> Vec<f32> {
    let layer =
        Layer { geometry, affine: Affine::new(Panels::pack_rows(weight, geometry.outputs), bias, rectify) };
    assert_eq!(input.len(), geometry.images * geometry.image());
    let mut output = Box::new_uninit_slice(geometry.images * geometry.output());
    let at_once = images_at_once(geometry);
    let count = at_once.unwrap_or(1);
    let images = input.par_chunks(count * geometry.image());
    images.zip(output.par_chunks_mut(count * geometry.output())).for_each_init(
        Buffers::default,
        |buffers, (images, output)| match at_once {
            None => layer.run(padded(geometry, images, &mut buffers.padded), output),
            Some(_) => layer.run_on_patches(images, buffers, output),
        },
    );
    // SAFETY: the products of each image write one row for each position, in all columns.
    unsafe { output.assume_init() }.into_vec()
}

/// The buffers of a thread.
#[derive(Default)]
struct Buffers {
    padded: Vec<f32>,
    /// `[positions, patch]`.
    patches: Vec<f32>,
}

/// A convolution with packed weights.
struct Layer {
    geometry: Geometry,
    /// The weight is `[patch, outputs]`.
    affine: Affine<'static>,
}

impl Layer {
    /// Computes the output for one padded image.
    fn run(&self, image: &[f32], output: &mut [MaybeUninit<f32>]) {
        let Geometry { inputs, kernel, stride, outputs, .. } = self.geometry;
        let row = self.geometry.padded_width() * inputs;
        let output_row = self.geometry.output_width() * outputs;
        let mut runs = vec![0; kernel];
        for panel in 0..self.affine.panels() {
            for (y, output) in output.chunks_exact_mut(output_row).enumerate() {
                for (kernel_row, run) in runs.iter_mut().enumerate() {
                    *run = (y * stride + kernel_row) * row;
                }
                let left = Rows {
                    values: image,
                    count: self.geometry.output_width(),
                    step: stride * inputs,
                    runs: &runs,
                    length: kernel * inputs,
                    element_step: 1,
                };
                self.affine.multiply(left, panel, output);
            }
        }
    }

    /// Computes the output for some images.
    fn run_on_patches(&self, images: &[f32], buffers: &mut Buffers, output: &mut [MaybeUninit<f32>]) {
        let Buffers { padded: buffer, patches } = buffers;
        patches.clear();
        for image in images.chunks_exact(self.geometry.image()) {
            append_patches(self.geometry, padded(self.geometry, image, buffer), patches);
        }
        let length = self.geometry.patch();
        let left = Rows::of_matrix(patches, length, 0..patches.len() / length);
        for panel in 0..self.affine.panels() {
            self.affine.multiply(left, panel, output);
        }
    }
}
