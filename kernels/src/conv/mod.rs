//! Convolutions, with a fused bias and ReLU.
//!
//! burn's CPU convolution converts to another layout and back, and prepares its patches again for each tile. The
//! operation here keeps channels last and reads the images in place:
//!
//! * `geometry`: the sizes of a convolution
//! * `padded`: zeros around images
//! * `patches`: copies of the values under a kernel, where an image has few positions
//! * `output_gradient`: the gradient of an image's output
//! * `forward`, `backward`, `input_gradient`: the passes over a batch, in parallel
//! * `half`: the same passes with products of `bf16`
//! * `extension`: the operation in burn's terms
//!
//! burn's convolutions for GPUs need autotuning, which compiles dozens of kernels for every shape. On these devices the
//! operation is a product of matrices:
//!
//! * `device`: the passes over a batch
//! * `kernels`: kernels for patches and their gradients

mod backward;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
mod device;
mod extension;
mod forward;
mod geometry;
mod half;
mod input_gradient;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
mod kernels;
mod output_gradient;
mod padded;
mod patches;

use burn::module::{Module, Param};
use burn::tensor::Tensor;

use super::precision::cast_like;
use super::products::Computation;
use super::products::half::Bf16Arithmetic;
use geometry::Window;

/// A convolution with a bias and an optional ReLU, on images with channels last.
#[derive(Module, Debug)]
pub struct Conv {
    /// `[kernel, kernel, input channels, output channels]`.
    pub weight: Param<Tensor<4>>,
    /// `[output channels]`.
    pub bias: Param<Tensor<1>>,
    /// Pixels of the input between two positions of the kernel, on both axes.
    pub stride: usize,
    /// Rows and columns of zeros on every side of the input.
    pub padding: usize,
    /// True to set negative outputs to 0.
    pub rectify: bool,
    /// The arithmetic of products of 16-bit numbers on the CPU; `None` for 32 bits.
    #[module(skip)]
    pub arithmetic: Option<Bf16Arithmetic>,
}

impl Conv {
    /// Returns the height or width of the output for an input of height or width `side`, which must not be
    /// smaller than the kernel.
    pub fn output_side(&self, side: usize) -> usize {
        (side + 2 * self.padding - self.weight.dims()[0]) / self.stride + 1
    }

    /// Maps `[rows, height, width, input channels]` to
    /// `[rows, output height, output width, output channels]`.
    pub fn forward(&self, input: Tensor<4>) -> Tensor<4> {
        let (weight, bias) = (cast_like(self.weight.val(), &input), cast_like(self.bias.val(), &input));
        let window = Window { stride: self.stride, padding: self.padding };
        let computation = Computation::new(self.rectify, self.arithmetic);
        extension::conv(input, weight, bias, window, computation)
    }
}

#[cfg(test)]
mod tests;
