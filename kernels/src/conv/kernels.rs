//! Kernels for devices, written in `CubeCL`. Each kernel is compiled once for every geometry, so that divisions by
//! sizes are cheap. A thread writes one vector of adjacent values.

#![allow(
    clippy::used_underscore_binding,
    reason = "the macros of CubeCL read the types of values from arguments"
)]

use burn::cubecl;
use burn::cubecl::prelude::*;

/// The sizes of a convolution that do not depend on the number of images. Widths, spans and steps are in vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Sizes {
    pub(super) height: usize,
    pub(super) width: usize,
    /// Channels of a pixel of the image.
    pub(super) channels: usize,
    /// Side of the kernel in pixels.
    pub(super) kernel: usize,
    /// Pixels between two positions of the kernel.
    pub(super) stride: usize,
    /// Rows and columns of zeros around an image.
    pub(super) padding: usize,
    /// Positions of the kernel along the height.
    pub(super) output_height: usize,
    /// Positions of the kernel along the width.
    pub(super) output_width: usize,
    /// Values in a vector.
    pub(super) vector: usize,
}

/// Copies the values under each position of the kernel: images `[images, height, width, channels]` to
/// `[images, output height, output width, kernel, kernel, channels]`.
///
/// The values under one row of the kernel are adjacent in the image, so vectors may span pixels. `padding` is that of
/// the sizes: the WGSL of a subtraction of a constant would not compile.
#[cube(launch_unchecked, address_type = "dynamic")]
pub(super) fn patches<F: Float, N: Size>(
    images: &[Vector<F, N>],
    output: &mut [Vector<F, N>],
    padding: usize,
    #[comptime] sizes: Sizes,
    #[define(F)] _dtype: ElemType,
) {
    if ABSOLUTE_POS >= output.len() {
        terminate!();
    }
    let span = comptime!(sizes.kernel * sizes.channels / sizes.vector);
    let step = comptime!(sizes.stride * sizes.channels / sizes.vector);
    let width = comptime!(sizes.width * sizes.channels / sizes.vector);

    let column = ABSOLUTE_POS % span;
    let rest = ABSOLUTE_POS / span;
    let row = rest % comptime!(sizes.kernel);
    let rest = rest / comptime!(sizes.kernel);
    let x = (rest % comptime!(sizes.output_width)) * step + column;
    let rest = rest / comptime!(sizes.output_width);
    let y = (rest % comptime!(sizes.output_height)) * comptime!(sizes.stride) + row;
    let image = rest / comptime!(sizes.output_height);

    if comptime!(sizes.padding == 0) {
        output[ABSOLUTE_POS] = images[(image * comptime!(sizes.height) + y) * width + x];
    } else {
        let border = padding * comptime!(sizes.channels / sizes.vector);
        let mut value = Vector::<F, N>::new(F::from_int(0));
        if y >= padding && y < comptime!(sizes.height) + padding && x >= border && x < width + border {
            value = images[(image * comptime!(sizes.height) + y - padding) * width + x - border];
        }
        output[ABSOLUTE_POS] = value;
    }
}

/// Sums the gradients of all copies that [`patches`] made of a value, in 32 bits.
#[cube(launch_unchecked, address_type = "dynamic")]
pub(super) fn patches_backward<F: Float, N: Size>(
    gradients: &[Vector<F, N>],
    output: &mut [Vector<F, N>],
    #[comptime] sizes: Sizes,
    #[define(F)] _dtype: ElemType,
) {
    if ABSOLUTE_POS >= output.len() {
        terminate!();
    }
    let depth = comptime!(sizes.channels / sizes.vector);
    let taps = comptime!(sizes.kernel.div_ceil(sizes.stride));
    let stride = comptime!(sizes.stride);
    let kernel = comptime!(sizes.kernel);

    let channel = ABSOLUTE_POS % depth;
    let rest = ABSOLUTE_POS / depth;
    let x = rest % comptime!(sizes.width) + comptime!(sizes.padding);
    let rest = rest / comptime!(sizes.width);
    let y = rest % comptime!(sizes.height) + comptime!(sizes.padding);
    let image = rest / comptime!(sizes.height);

    let mut sum = Vector::<f32, N>::new(0.0);
    for tap_y in 0..taps {
        // The row of the kernel that covers the pixel from a position, which exists if it is not outside of the image.
        let row = y % stride + tap_y * stride;
        let top = (y - row) / stride;
        if row < kernel && row <= y && top < comptime!(sizes.output_height) {
            for tap_x in 0..taps {
                let column = x % stride + tap_x * stride;
                let left = (x - column) / stride;
                if column < kernel && column <= x && left < comptime!(sizes.output_width) {
                    let position =
                        (image * comptime!(sizes.output_height) + top) * comptime!(sizes.output_width) + left;
                    let index = ((position * kernel + row) * kernel + column) * depth + channel;
                    sum += Vector::<f32, N>::cast_from(gradients[index]);
                }
            }
        }
    }
    output[ABSOLUTE_POS] = Vector::<F, N>::cast_from(sum);
}
