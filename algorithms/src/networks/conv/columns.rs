//! A convolution as a product of matrices in burn's operations, for devices other than the CPU.
//!
//! burn's own convolutions for GPUs need autotuning, which compiles dozens of kernels for every shape. Products of matrices are
//! fast without it.

use burn::tensor::Tensor;
use burn::tensor::activation::relu;
use burn::tensor::ops::PadMode;

use super::geometry::Window;
use crate::networks::bias::add_bias;

/// The largest number of parts into which the rows of a product are divided.
const MAX_PARTS: usize = 128;

/// Convolves an input `[images, height, width, inputs]` with a weight `[kernel, kernel, inputs, outputs]` and a bias
/// `[outputs]`, like [`Conv::forward`](super::Conv::forward).
pub(super) fn conv(
    input: Tensor<4>,
    weight: Tensor<4>,
    bias: Tensor<1>,
    window: Window,
    rectify: bool,
) -> Tensor<4> {
    let [images, height, width, _] = input.dims();
    let [kernel, _, _, outputs] = weight.dims();
    let Window { stride, padding } = window;
    let [height, width] = [height, width].map(|side| (side + 2 * padding - kernel) / stride + 1);
    // In blocks of `stride` x `stride` pixels, the stride is 1 and the kernel has a side of `taps`. A kernel that ends
    // within a block is padded with zeros.
    let taps = kernel.div_ceil(stride);
    let sides = [height, width].map(|side| (side - 1 + taps) * stride);
    let input = blocks(resized(input, padding, sides), stride);
    let weight = blocks(resized(weight.permute([3, 0, 1, 2]), 0, [taps * stride; 2]), stride);
    let columns = columns(input, taps, [height, width]);
    let length = columns.dims()[3];
    let weight = weight.reshape([outputs, length]).transpose();

    // The gradient of the weight is a sum over all rows, which a single product would compute for each weight in turn.
    // Its parts are computed in parallel instead.
    let rows = images * height * width;
    let parts = (1..=MAX_PARTS).rev().find(|parts| rows.is_multiple_of(*parts)).unwrap_or(1);
    let columns = columns.reshape([parts, rows / parts, length]);
    let output = columns.matmul(weight.unsqueeze()).reshape([rows, outputs]);
    let output = add_bias(output, bias).reshape([images, height, width, outputs]);
    if rectify { relu(output) } else { output }
}

/// Adds `padding` zeros on the upper and left sides of images, and zeros or cuts on the other sides so that they have the given
/// height and width.
fn resized(images: Tensor<4>, padding: usize, [height, width]: [usize; 2]) -> Tensor<4> {
    let [_, old_height, old_width, _] = images.dims();
    let missing = |new: usize, old: usize| new.saturating_sub(padding + old);
    let (below, right) = (missing(height, old_height), missing(width, old_width));
    let padded = if padding + below + right > 0 {
        let images = images.permute([0, 3, 1, 2]);
        images.pad((padding, right, padding, below), PadMode::Constant(0.0)).permute([0, 2, 3, 1])
    } else {
        images
    };
    let count = padded.dims()[0];
    padded.slice([0..count, 0..height, 0..width])
}

/// Joins the pixels of square blocks: `[images, height, width, channels]` to
/// `[images, height / side, width / side, side * side * channels]`.
fn blocks(images: Tensor<4>, side: usize) -> Tensor<4> {
    if side == 1 {
        return images;
    }
    let [count, height, width, channels] = images.dims();
    let (height, width) = (height / side, width / side);
    let blocks: Tensor<6> = images.reshape([count, height, side, width, side, channels]);
    blocks.permute([0, 1, 3, 2, 4, 5]).reshape([count, height, width, side * side * channels])
}

/// Joins the pixels under a kernel of `taps` x `taps` pixels at each of its positions: `[images, height, width, channels]` to
/// `[images, positions, positions, taps * taps * channels]`.
fn columns(images: Tensor<4>, taps: usize, [height, width]: [usize; 2]) -> Tensor<4> {
    if taps == 1 {
        return images;
    }
    let under = |tap: usize| {
        let (y, x) = (tap / taps, tap % taps);
        images.clone().slice([0..images.dims()[0], y..y + height, x..x + width])
    };
    Tensor::cat((0..taps * taps).map(under).collect(), 3)
}
