//! Forward and backward passes over a batch.
//!
//! The batch is split into parts whose size depends only on the convolution, never on the number of threads,
//! and sums over parts are formed in order. So the result is bit-identical on any number of threads.

use rayon::prelude::*;

use super::geometry::Geometry;
use super::patches::Patches;
use super::product::{Matrix, WriteMode, multiply};

/// Positions of the kernel whose patches are gathered before they are multiplied: enough to amortise the
/// setup of a product, few enough for the patches to stay in the cache.
const BLOCK_POSITIONS: usize = 200;

/// Number of images whose weight gradients one thread sums.
const PART_IMAGES: usize = 16;

/// Computes `conv(input, weight) + bias`, optionally rectified: `[images, positions, outputs]`.
pub(super) fn forward(
    geometry: Geometry,
    input: &[f32],
    weight: &[f32],
    bias: &[f32],
    rectify: bool,
) -> Vec<f32> {
    let least = if rectify { 0.0 } else { f32::NEG_INFINITY };
    let weight = Matrix::new(weight, geometry.patch(), geometry.outputs);
    let block = block_images(geometry);
    let mut output = vec![0.0; geometry.images * geometry.output()];
    input
        .par_chunks(block * geometry.image())
        .zip(output.par_chunks_mut(block * geometry.output()))
        .for_each_init(Patches::default, |patches, (input, output)| {
            multiply(patches.gather(geometry, input), weight, output, WriteMode::Overwrite);
            for pixel in output.chunks_exact_mut(geometry.outputs) {
                for (number, bias) in pixel.iter_mut().zip(bias) {
                    *number = (*number + bias).max(least);
                }
            }
        });
    output
}

/// The results of a backward pass.
pub(super) struct Gradients {
    /// `[images, height, width, inputs]`, if requested.
    pub(super) input: Option<Vec<f32>>,
    /// `[patch, outputs]`.
    pub(super) weight: Vec<f32>,
    /// `[outputs]`.
    pub(super) bias: Vec<f32>,
}

/// The tensors of a forward pass and the gradient of its output.
#[derive(Clone, Copy)]
pub(super) struct Backward<'a> {
    /// `[images, height, width, inputs]`.
    pub(super) input: &'a [f32],
    /// `[patch, outputs]`.
    pub(super) weight: &'a [f32],
    /// The result of the forward pass.
    pub(super) output: &'a [f32],
    /// The gradient with respect to `output`.
    pub(super) gradient: &'a [f32],
    /// True if the forward pass rectified.
    pub(super) rectified: bool,
}

impl Backward<'_> {
    /// Computes the gradients with respect to weight, bias and, if requested, input.
    pub(super) fn run(self, geometry: Geometry, with_input: bool) -> Gradients {
        let mut input_gradient = vec![0.0; if with_input { self.input.len() } else { 0 }];
        let part = PART_IMAGES * geometry.image();
        let mut input_parts: Vec<Option<&mut [f32]>> = input_gradient.chunks_mut(part).map(Some).collect();
        input_parts.resize_with(geometry.images.div_ceil(PART_IMAGES), || None);

        let output_part = PART_IMAGES * geometry.output();
        let parts: Vec<(Vec<f32>, Vec<f32>)> = self
            .input
            .par_chunks(part)
            .zip(self.output.par_chunks(output_part))
            .zip(self.gradient.par_chunks(output_part))
            .zip(input_parts)
            .map(|(((input, output), gradient), input_gradient)| {
                Backward { input, output, gradient, ..self }.part(geometry, input_gradient)
            })
            .collect();
        let mut weight = vec![0.0; geometry.patch() * geometry.outputs];
        let mut bias = vec![0.0; geometry.outputs];
        for (weight_part, bias_part) in parts {
            add(&mut weight, &weight_part);
            add(&mut bias, &bias_part);
        }
        Gradients { input: with_input.then_some(input_gradient), weight, bias }
    }

    /// Computes the gradients of weight and bias over some images, and adds those of the images to
    /// `input_gradient`.
    fn part(self, geometry: Geometry, mut input_gradient: Option<&mut [f32]>) -> (Vec<f32>, Vec<f32>) {
        let mut weight_gradient = vec![0.0; geometry.patch() * geometry.outputs];
        let mut bias_gradient = vec![0.0; geometry.outputs];
        let block = block_images(geometry);
        let (mut patches, mut before_relu) = (Patches::default(), Vec::new());
        let outputs = self.output.chunks(block * geometry.output());
        let gradients = self.gradient.chunks(block * geometry.output());
        let inputs = self.input.chunks(block * geometry.image());
        for (index, ((output, gradient), input)) in outputs.zip(gradients).zip(inputs).enumerate() {
            before_relu.clear();
            before_relu.extend(
                gradient
                    .iter()
                    .zip(output)
                    .map(|(gradient, &output)| if output > 0.0 || !self.rectified { *gradient } else { 0.0 }),
            );
            for pixel in before_relu.chunks_exact(geometry.outputs) {
                add(&mut bias_gradient, pixel);
            }
            let positions = before_relu.len() / geometry.outputs;
            let gradient = Matrix::new(&before_relu, positions, geometry.outputs);
            let gathered = patches.gather(geometry, input);
            multiply(gathered.transposed(), gradient, &mut weight_gradient, WriteMode::Add);

            if let Some(input_gradient) = &mut input_gradient {
                let weight = Matrix::new(self.weight, geometry.patch(), geometry.outputs);
                multiply(gradient, weight.transposed(), &mut patches.values, WriteMode::Overwrite);
                let start = index * block * geometry.image();
                patches.scatter(geometry, &mut input_gradient[start..start + input.len()]);
            }
        }
        (weight_gradient, bias_gradient)
    }
}

/// Returns the number of images whose patches are gathered together.
fn block_images(geometry: Geometry) -> usize {
    (BLOCK_POSITIONS / geometry.positions()).clamp(1, PART_IMAGES)
}

fn add(sum: &mut [f32], values: &[f32]) {
    for (sum, number) in sum.iter_mut().zip(values) {
        *sum += number;
    }
}
