use burn::module::{Module, Param};
use burn::tensor::Tensor;
use burn::tensor::activation::relu;
use burn::tensor::module::conv2d;
use burn::tensor::ops::ConvOptions;

/// A convolution without padding, its bias and a rectifier, on pictures with the channels last.
#[derive(Module, Debug)]
pub struct Conv {
    /// `[kernel, kernel, input channels, output channels]`.
    pub weight: Param<Tensor<4>>,
    /// `[output channels]`.
    pub bias: Param<Tensor<1>>,
    /// Distance between two positions of the kernel, in pixels of the input, on both axes.
    pub stride: usize,
}

impl Conv {
    /// Height or width of the output for an input of height or width `side`, which is not smaller than the kernel.
    pub fn output_side(&self, side: usize) -> usize {
        (side - self.weight.dims()[0]) / self.stride + 1
    }

    /// `[rows, height, width, input channels]` to `[rows, output height, output width, output channels]`.
    pub fn forward(&self, input: Tensor<4>) -> Tensor<4> {
        let options = ConvOptions::new([self.stride; 2], [0; 2], [1; 2], 1);
        let input = input.permute([0, 3, 1, 2]);
        let weight = self.weight.val().permute([3, 2, 0, 1]);
        relu(conv2d(input, weight, Some(self.bias.val()), options)).permute([0, 2, 3, 1])
    }
}
