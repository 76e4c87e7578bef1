//! The passes over a batch with products of 16-bit numbers.
//!
//! Images, weights and gradients are rounded to `bf16` before they are multiplied; all sums have 32 bits. As in 32
//! bits, the batch is split into parts whose size depends only on the convolution.

use std::mem::MaybeUninit;

use pulp::Arch;
use rayon::prelude::*;

use super::backward::{Backward, Gradients, PART_IMAGES};
use super::geometry::Geometry;
use super::input_gradient::Phase;
use super::output_gradient::OutputGradient;
use super::padded::padded_half;
use super::patches::{append_patches, images_at_once};
use crate::products::half::{
    BLOCK_PAIRS, BLOCK_ROWS, Bf16Arithmetic, HalfOuterProducts, HalfPanels, HalfProduct, HalfRows,
    PANEL_COLUMNS, ROWS, round_all,
};
use crate::products::{Panels, PositionSums};

/// Computes `conv(input, weight) + bias`, optionally rectified: `[images, positions, outputs]`.
#[allow(unsafe_code)]
pub(super) fn forward(
    geometry: Geometry,
    input: &[f32],
    weight: &[f32],
    bias: &[f32],
    rectify: bool,
    arithmetic: Bf16Arithmetic,
) -> Vec<f32> {
    assert_eq!(input.len(), geometry.images * geometry.image());
    let at_once = images_at_once(geometry);
    let (patch, row) = (geometry.patch(), geometry.kernel * geometry.inputs);
    let (runs, length) = if at_once.is_some() { (1, patch) } else { (geometry.kernel, row) };
    let weight = HalfPanels::pack(weight, runs, length, geometry.outputs);
    let least = if rectify { 0.0 } else { f32::NEG_INFINITY };
    let layer = Layer { geometry, weight, bias, least, arithmetic };
    let mut output = Box::new_uninit_slice(geometry.images * geometry.output());
    let count = at_once.unwrap_or(1);
    let images = input.par_chunks(count * geometry.image());
    images.zip(output.par_chunks_mut(count * geometry.output())).for_each_init(
        || (Vec::new(), Vec::new()),
        |(buffer, patches), (images, output)| {
            if at_once.is_none() {
                return layer.run(padded_half(geometry, images, buffer), output);
            }
            patches.clear();
            for image in images.chunks_exact(geometry.image()) {
                append_patches(geometry, padded_half(geometry, image, buffer), patches);
            }
            layer.run_on_patches(patches, output);
        },
    );
    // SAFETY: the products of each image write one row for each position, in all columns.
    unsafe { output.assume_init() }.into_vec()
}

/// A convolution with packed weights.
struct Layer<'a> {
    geometry: Geometry,
    weight: HalfPanels,
    bias: &'a [f32],
    least: f32,
    arithmetic: Bf16Arithmetic,
}

impl Layer<'_> {
    /// Computes the output for one padded image.
    fn run(&self, image: &[u16], output: &mut [MaybeUninit<f32>]) {
        let Geometry { inputs, kernel, stride, outputs, .. } = self.geometry;
        let row = self.geometry.padded_width() * inputs;
        let output_row = self.geometry.output_width() * outputs;
        let mut runs = vec![0; kernel];
        for (y, output) in output.chunks_exact_mut(output_row).enumerate() {
            for (kernel_row, run) in runs.iter_mut().enumerate() {
                *run = (y * stride + kernel_row) * row;
            }
            let (count, length) = (self.geometry.output_width(), kernel * inputs);
            self.multiply(
                HalfRows { values: image, count, step: stride * inputs, runs: &runs, length },
                output,
            );
        }
    }

    /// Computes the output for patches of some images.
    fn run_on_patches(&self, patches: &mut Vec<u16>, output: &mut [MaybeUninit<f32>]) {
        let length = self.geometry.patch();
        let count = patches.len() / length;
        patches.resize(patches.len() + BLOCK_ROWS, 0);
        self.multiply(HalfRows { values: patches, count, step: length, runs: &[0], length }, output);
    }

    fn multiply(&self, left: HalfRows<'_>, result: &mut [MaybeUninit<f32>]) {
        HalfProduct {
            left,
            right: &self.weight,
            first_run: 0,
            bias: self.bias,
            least: self.least,
            result,
            result_step: self.geometry.outputs,
        }
        .run(self.arithmetic);
    }
}

/// Computes the gradients with respect to weight, bias and, if requested, input.
#[allow(unsafe_code)]
pub(super) fn backward(
    backward: Backward<'_>,
    geometry: Geometry,
    with_input: bool,
    arithmetic: Bf16Arithmetic,
) -> Gradients {
    let input_gradient = with_input.then(|| InputGradient::new(geometry, backward.weight, arithmetic));
    let mut input = Box::new_uninit_slice(if with_input { backward.input.len() } else { 0 });
    let part = PART_IMAGES * geometry.image();
    let mut input_parts: Vec<&mut [MaybeUninit<f32>]> = input.chunks_mut(part).collect();
    input_parts.resize_with(geometry.images.div_ceil(PART_IMAGES), Default::default);
    let output_part = PART_IMAGES * geometry.output();
    let parts: Vec<Part> = backward
        .input
        .par_chunks(part)
        .zip(backward.output.par_chunks(output_part))
        .zip(backward.gradient.par_chunks(output_part))
        .zip(input_parts)
        .map(|(((input, output), gradient), input_part)| {
            let mut part = Part::new(geometry, arithmetic);
            part.add(Backward { input, output, gradient, ..backward }, input_gradient.as_ref(), input_part);
            part
        })
        .collect();
    let mut weight = vec![0.0; geometry.patch() * geometry.outputs];
    let mut bias = vec![0.0; geometry.outputs];
    for part in parts {
        part.add_weight_to(&mut weight);
        part.bias.add_to(&mut bias);
    }
    // SAFETY: every part has written the gradients of all pixels of its images. If they are not requested, there are no
    // values.
    let input = unsafe { input.assume_init() }.into_vec();
    Gradients { input: with_input.then_some(input), weight, bias }
}

/// The gradients of weight and bias, summed over some images.
struct Part {
    geometry: Geometry,
    arithmetic: Bf16Arithmetic,
    /// `[kernel, outputs, kernel * inputs]` with the outputs padded to whole tiles, and the values of a kernel row too;
    /// for copied patches, `[1, outputs, patch]`.
    weight: Vec<f32>,
    /// `[1, outputs]`.
    bias: Panels,
}

impl Part {
    fn new(geometry: Geometry, arithmetic: Bf16Arithmetic) -> Self {
        let mut part =
            Self { geometry, arithmetic, weight: Vec::new(), bias: Panels::zeros(1, geometry.outputs) };
        let kernel_rows = geometry.patch() / part.length();
        part.weight = vec![0.0; kernel_rows * part.outputs() * part.columns()];
        part
    }

    /// Returns the number of values that are multiplied together: those of a kernel row, or of a copied patch.
    fn length(&self) -> usize {
        let Geometry { kernel, inputs, .. } = self.geometry;
        if images_at_once(self.geometry).is_some() { self.geometry.patch() } else { kernel * inputs }
    }

    /// Returns the length, padded to whole tiles.
    fn columns(&self) -> usize {
        self.length().next_multiple_of(PANEL_COLUMNS)
    }

    /// Returns the number of outputs, padded to whole tiles.
    fn outputs(&self) -> usize {
        self.geometry.outputs.next_multiple_of(ROWS)
    }

    /// Adds the gradients over some images, and writes those of the input if they are requested.
    fn add(
        &mut self,
        images: Backward<'_>,
        input_gradient: Option<&InputGradient>,
        input_part: &mut [MaybeUninit<f32>],
    ) {
        let geometry = self.geometry;
        let mut gradient = OutputGradient::new(geometry);
        let (mut image_buffer, mut rounded) = (Vec::new(), Vec::new());
        let mut positions = Positions::default();
        let outputs = images.output.chunks_exact(geometry.output());
        let gradients = images.gradient.chunks_exact(geometry.output());
        let inputs = images.input.chunks_exact(geometry.image());
        for (index, ((output, output_gradient), image)) in outputs.zip(gradients).zip(inputs).enumerate() {
            gradient.read(output_gradient, images.rectified.then_some(output));
            rounded.resize(gradient.values().len() + BLOCK_ROWS, 0);
            round_all(gradient.values(), &mut rounded[..gradient.values().len()]);
            self.add_bias(&gradient);
            let image = padded_half(geometry, image, &mut image_buffer);
            match images_at_once(geometry) {
                None => self.add_image(image, &gradient, &rounded, &mut positions),
                Some(count) => {
                    append_patches(geometry, image, &mut positions.values);
                    gradient.append_rounded(&rounded, &mut positions.gradients);
                    positions.images += 1;
                    if positions.images == count {
                        self.add_patches(&mut positions);
                    }
                }
            }
            if let Some(input_gradient) = input_gradient {
                let result = &mut input_part[index * geometry.image()..][..geometry.image()];
                input_gradient.run(&gradient, &rounded, result);
            }
        }
        if positions.images > 0 {
            self.add_patches(&mut positions);
        }
    }

    fn add_bias(&mut self, gradient: &OutputGradient) {
        let width = self.bias.width();
        for panel in 0..self.bias.count() {
            let (values, grid) = gradient.rows(0, self.geometry.output_height(), panel * width);
            Arch::new().dispatch(PositionSums { values, grid, sums: self.bias.panel_mut(panel) });
        }
    }

    /// Adds the gradients of one padded image.
    fn add_image(
        &mut self,
        image: &[u16],
        gradient: &OutputGradient,
        rounded: &[u16],
        positions: &mut Positions,
    ) {
        let Geometry { inputs, stride, kernel, .. } = self.geometry;
        let (height, width) = (self.geometry.output_height(), self.geometry.output_width());
        // Rows are cut into chunks of at most a block.
        let chunks = width.div_ceil(BLOCK_ROWS);
        let pairs = width.div_ceil(2 * chunks);
        let padded_width = 2 * pairs * chunks;
        gradient.transpose(rounded, self.outputs(), padded_width, &mut positions.transposed);
        let (step, row) = (stride * inputs, self.geometry.padded_width() * inputs);
        let beyond = 2 * pairs * chunks * step + self.columns();
        pair_values(image, step, beyond, &mut positions.words);
        let (columns, rows) = (self.columns(), self.outputs());
        for (kernel_row, sums) in self.weight.chunks_exact_mut(rows * columns).enumerate().take(kernel) {
            for chunk in 0..chunks {
                HalfOuterProducts {
                    left: &positions.transposed[chunk * 2 * pairs..],
                    left_row: height * padded_width,
                    left_step: padded_width,
                    right: &positions.words[kernel_row * row + chunk * 2 * pairs * step..],
                    right_pair: 2 * step,
                    right_step: stride * row,
                    pairs,
                    height,
                    sums,
                    columns,
                }
                .run(self.arithmetic);
            }
        }
    }

    /// Adds the gradients of copied patches, and removes these.
    fn add_patches(&mut self, positions: &mut Positions) {
        let (length, columns, outputs) = (self.length(), self.columns(), self.geometry.outputs);
        let count = positions.images * self.geometry.positions();
        let blocks = count.div_ceil(BLOCK_ROWS);
        positions.words.clear();
        positions.words.resize(blocks * BLOCK_PAIRS * columns, 0);
        for (words, values) in
            positions.words.chunks_exact_mut(columns).zip(positions.values.chunks(2 * length))
        {
            let (first, second) = values.split_at(length);
            for (index, word) in words[..length].iter_mut().enumerate() {
                let second = second.get(index).copied().unwrap_or(0);
                *word = u32::from(first[index]) | u32::from(second) << 16;
            }
        }
        let row = blocks * BLOCK_ROWS;
        positions.transposed.clear();
        positions.transposed.resize(self.outputs() * row, 0);
        for (position, values) in positions.gradients.chunks_exact(outputs).enumerate() {
            for (output, &value) in values.iter().enumerate() {
                positions.transposed[output * row + position] = value;
            }
        }
        HalfOuterProducts {
            left: &positions.transposed,
            left_row: row,
            left_step: BLOCK_ROWS,
            right: &positions.words,
            right_pair: columns,
            right_step: BLOCK_PAIRS * columns,
            pairs: BLOCK_PAIRS,
            height: blocks,
            sums: &mut self.weight,
            columns,
        }
        .run(self.arithmetic);
        positions.values.clear();
        positions.gradients.clear();
        positions.images = 0;
    }

    /// Adds the gradient of the weight to `sum`: `[patch, outputs]`.
    fn add_weight_to(&self, sum: &mut [f32]) {
        let (length, columns, outputs) = (self.length(), self.columns(), self.geometry.outputs);
        for (index, row) in sum.chunks_exact_mut(outputs).enumerate() {
            let first = index / length * self.outputs() * columns + index % length;
            for (sum, value) in row.iter_mut().zip(self.weight[first..].iter().step_by(columns)) {
                *sum += value;
            }
        }
    }
}

/// Positions of images in the forms that outer products read, and buffers for them.
#[derive(Default)]
struct Positions {
    /// The images of which patches were copied.
    images: usize,
    /// `[positions, patch]`.
    values: Vec<u16>,
    /// `[positions, outputs]`.
    gradients: Vec<u16>,
    /// Pairs of values, at two positions next to each other.
    words: Vec<u32>,
    /// The gradients with positions last.
    transposed: Vec<u16>,
}

/// Writes pairs of the values of an image that are `step` apart, and `beyond` zeros.
fn pair_values(image: &[u16], step: usize, beyond: usize, words: &mut Vec<u32>) {
    words.clear();
    let (paired, last) = image.split_at(image.len() - step);
    let seconds = image[step..].iter();
    words.extend(
        paired.iter().zip(seconds).map(|(&first, &second)| u32::from(first) | u32::from(second) << 16),
    );
    words.extend(last.iter().map(|&first| u32::from(first)));
    words.resize(words.len() + beyond, 0);
}

/// The weights of a convolution, packed for the gradient of its input.
struct InputGradient {
    geometry: Geometry,
    arithmetic: Bf16Arithmetic,
    phases: Vec<(Phase, HalfPanels)>,
}

impl InputGradient {
    /// Packs `[kernel, kernel, inputs, outputs]`.
    fn new(geometry: Geometry, weight: &[f32], arithmetic: Bf16Arithmetic) -> Self {
        let Geometry { outputs, inputs, .. } = geometry;
        let taps = geometry.taps();
        let phases = Phase::all(geometry).map(|phase| {
            let elements = 0..taps * taps * outputs * inputs;
            let matrix: Vec<f32> =
                elements.map(|index| phase.weight(weight, index / inputs, index % inputs)).collect();
            (phase, HalfPanels::pack(&matrix, taps, taps * outputs, inputs))
        });
        Self { geometry, arithmetic, phases: phases.collect() }
    }

    /// Writes the gradient of every pixel of one image, without padding.
    fn run(&self, gradient: &OutputGradient, rounded: &[u16], result: &mut [MaybeUninit<f32>]) {
        for (phase, weight) in &self.phases {
            for row in phase.rows(gradient.row()) {
                row.fill_uncovered(self.geometry.inputs, result);
                if row.covered == 0 {
                    continue;
                }
                HalfProduct {
                    left: HalfRows {
                        values: rounded,
                        count: row.covered,
                        step: self.geometry.outputs,
                        runs: &row.runs,
                        length: self.geometry.taps() * self.geometry.outputs,
                    },
                    right: weight,
                    first_run: row.first_tap,
                    bias: &[],
                    least: f32::NEG_INFINITY,
                    result: &mut result[row.start..],
                    result_step: self.geometry.stride * self.geometry.inputs,
                }
                .run(self.arithmetic);
            }
        }
    }
}
