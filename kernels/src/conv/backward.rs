//! The backward pass over a batch.
//!
//! The batch is split into parts whose size depends only on the convolution, never on the number of threads, and sums
//! over parts are computed in order. The result is therefore bit-identical on any number of threads.

use std::mem::MaybeUninit;

use pulp::Arch;
use rayon::prelude::*;

use super::geometry::Geometry;
use super::input_gradient::InputGradient;
use super::output_gradient::OutputGradient;
use super::padded::padded;
use super::patches::{append_patches, images_at_once};
use crate::products::{Grid, OuterProducts, Panels, PositionSums, columns_here};

/// Number of images whose weight gradients one thread sums.
pub(super) const PART_IMAGES: usize = 16;

/// The largest number of values in two rows of positions. A block of them then stays in the first-level cache while the
/// tiles of a kernel row pass over it.
const BLOCK_VALUES: usize = 6 * 1024;

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
    #[allow(unsafe_code)]
    pub(super) fn run(self, geometry: Geometry, with_input: bool) -> Gradients {
        assert_eq!(self.input.len(), geometry.images * geometry.image());
        assert_eq!([self.output.len(), self.gradient.len()], [geometry.images * geometry.output(); 2]);
        let input_gradient = with_input.then(|| InputGradient::new(geometry, self.weight));
        let mut input = Box::new_uninit_slice(if with_input { self.input.len() } else { 0 });
        let part = PART_IMAGES * geometry.image();
        let mut input_parts: Vec<&mut [MaybeUninit<f32>]> = input.chunks_mut(part).collect();
        input_parts.resize_with(geometry.images.div_ceil(PART_IMAGES), Default::default);

        let output_part = PART_IMAGES * geometry.output();
        let parts: Vec<Part> = self
            .input
            .par_chunks(part)
            .zip(self.output.par_chunks(output_part))
            .zip(self.gradient.par_chunks(output_part))
            .zip(input_parts)
            .map(|(((input, output), gradient), input_part)| {
                let mut part = Part::new(geometry);
                Backward { input, output, gradient, ..self }.part(
                    &mut part,
                    input_gradient.as_ref(),
                    input_part,
                );
                part
            })
            .collect();
        let mut weight = vec![0.0; geometry.patch() * geometry.outputs];
        let mut bias = vec![0.0; geometry.outputs];
        for part in parts {
            part.weight.add_to(&mut weight);
            part.bias.add_to(&mut bias);
        }
        // SAFETY: every part has written the gradients of all pixels of its images. If they are not requested, there
        // are no values.
        let input = unsafe { input.assume_init() }.into_vec();
        Gradients { input: with_input.then_some(input), weight, bias }
    }

    /// Computes the gradients over some images.
    fn part(
        self,
        part: &mut Part,
        input_gradient: Option<&InputGradient>,
        input_part: &mut [MaybeUninit<f32>],
    ) {
        let geometry = part.geometry;
        let mut gradient = OutputGradient::new(geometry);
        let mut buffer = Vec::new();
        let mut copies = images_at_once(geometry).map(Copies::new);
        let outputs = self.output.chunks_exact(geometry.output());
        let gradients = self.gradient.chunks_exact(geometry.output());
        let images = self.input.chunks_exact(geometry.image());
        for (index, ((output, output_gradient), image)) in outputs.zip(gradients).zip(images).enumerate() {
            gradient.read(output_gradient, self.rectified.then_some(output));
            let image = padded(geometry, image, &mut buffer);
            match &mut copies {
                None => part.add(image, &gradient),
                Some(copies) => copies.add(image, &gradient, part),
            }
            if let Some(input_gradient) = input_gradient {
                input_gradient
                    .run(&gradient, &mut input_part[index * geometry.image()..][..geometry.image()]);
            }
        }
        if let Some(copies) = &mut copies {
            copies.move_to(part);
        }
    }
}

/// Patches of some images, and the gradients of their outputs.
struct Copies {
    /// Number of images that are added to a part together.
    count: usize,
    /// Number of images copied.
    images: usize,
    /// `[positions, patch]`.
    patches: Vec<f32>,
    /// `[positions, outputs]`.
    gradients: Vec<f32>,
}

impl Copies {
    fn new(count: usize) -> Self {
        Self { count, images: 0, patches: Vec::new(), gradients: Vec::new() }
    }

    /// Copies a padded image. Adds the gradients of all copied images to `part` once there are enough of them.
    fn add(&mut self, image: &[f32], gradient: &OutputGradient, part: &mut Part) {
        append_patches(part.geometry, image, &mut self.patches);
        gradient.append_to(&mut self.gradients);
        self.images += 1;
        if self.images == self.count {
            self.move_to(part);
        }
    }

    /// Adds the gradients of the copied images to `part`.
    fn move_to(&mut self, part: &mut Part) {
        if self.images > 0 {
            let positions = self.images * part.geometry.positions();
            // Whole vectors are read at each position.
            self.gradients.resize(self.gradients.len() + columns_here(), 0.0);
            part.add_patches(&self.patches, &self.gradients, positions);
        }
        self.images = 0;
        self.patches.clear();
        self.gradients.clear();
    }
}

/// The gradients of weight and bias, summed over some images.
struct Part {
    geometry: Geometry,
    /// `[patch, outputs]`.
    weight: Panels,
    /// `[1, outputs]`.
    bias: Panels,
}

impl Part {
    fn new(geometry: Geometry) -> Self {
        let panels = |rows| Panels::zeros(rows, geometry.outputs);
        Self { geometry, weight: panels(geometry.patch()), bias: panels(1) }
    }

    /// Adds the gradients of patches, `[positions, patch]`, given those of their outputs, `[positions, outputs]`.
    fn add_patches(&mut self, patches: &[f32], gradients: &[f32], positions: usize) {
        let (patch, width, arch) = (self.geometry.patch(), self.weight.width(), Arch::new());
        let grid = |step| Grid { height: 1, width: positions, row_step: 0, step };
        let right_grid = grid(self.geometry.outputs);
        for panel in 0..self.weight.count() {
            let right = &gradients[panel * width..];
            arch.dispatch(PositionSums { values: right, grid: right_grid, sums: self.bias.panel_mut(panel) });
            arch.dispatch(OuterProducts {
                left: patches,
                left_grid: grid(patch),
                length: patch,
                right,
                right_grid,
                sums: self.weight.panel_mut(panel),
            });
        }
    }

    /// Adds the gradients of one padded image.
    fn add(&mut self, image: &[f32], gradient: &OutputGradient) {
        let Geometry { inputs, kernel, stride, .. } = self.geometry;
        let width = self.weight.width();
        let (output_height, output_width) = (self.geometry.output_height(), self.geometry.output_width());
        let row = self.geometry.padded_width() * inputs;
        let blocks = (output_height * (stride * row + output_width * width)).div_ceil(BLOCK_VALUES);
        let blocks = blocks.min(output_height);
        let arch = Arch::new();
        let length = kernel * inputs;
        let panels = self.weight.count();
        for (block, panel) in (0..blocks).flat_map(|block| (0..panels).map(move |panel| (block, panel))) {
            let first = block * output_height / blocks;
            let height = (block + 1) * output_height / blocks - first;
            let (values, grid) = gradient.rows(first, height, panel * width);
            arch.dispatch(PositionSums { values, grid, sums: self.bias.panel_mut(panel) });
            let left_grid =
                Grid { height, width: output_width, row_step: stride * row, step: stride * inputs };
            for (kernel_row, sums) in
                self.weight.panel_mut(panel).chunks_exact_mut(length * width).enumerate()
            {
                arch.dispatch(OuterProducts {
                    left: &image[(first * stride + kernel_row) * row..],
                    left_grid,
                    length,
                    right: values,
                    right_grid: grid,
                    sums,
                });
            }
        }
    }
}
