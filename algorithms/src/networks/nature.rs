use burn::module::Module;
use burn::nn::Linear;
use burn::tensor::Tensor;
use burn::tensor::activation::relu;

use super::{Conv, Initializer};

/// The convolutional torso of Mnih et al. 2015, "Human-level control through deep reinforcement learning": 32 kernels
/// of 8 x 8 at stride 4, 64 of 4 x 4 at stride 2, 64 of 3 x 3, then 512 features; a rectifier after each.
#[derive(Module, Debug)]
pub struct Nature {
    conv1: Conv,
    conv2: Conv,
    conv3: Conv,
    linear: Linear,
    #[module(skip)]
    picture: [usize; 3],
}

impl Nature {
    /// Number of features.
    pub const FEATURES: usize = 512;
    /// The least height and width: smaller pictures leave nothing for the third convolution.
    pub const MIN_SIDE: usize = 36;

    /// A torso for pictures of `[height, width, channels]`, each side at least [`MIN_SIDE`](Self::MIN_SIDE).
    pub fn new(picture: [usize; 3], initializer: &mut Initializer<'_>) -> Self {
        let [height, width, channels] = picture;
        let conv1 = initializer.conv([channels, 32], 8, 4);
        let conv2 = initializer.conv([32, 64], 4, 2);
        let conv3 = initializer.conv([64, 64], 3, 1);
        let left = |side| conv3.output_side(conv2.output_side(conv1.output_side(side)));
        let pixels = left(height) * left(width);
        let linear = initializer.linear(64 * pixels, Self::FEATURES, 2f64.sqrt());
        Self { conv1, conv2, conv3, linear, picture }
    }

    /// Features `[rows, 512]` of pictures `[rows, height * width * channels]` with values in 0..=1, channels last.
    pub fn forward(&self, observations: Tensor<2>) -> Tensor<2> {
        let [rows, _] = observations.dims();
        let [height, width, channels] = self.picture;
        let pictures = observations.reshape([rows, height, width, channels]);
        let maps = self.conv3.forward(self.conv2.forward(self.conv1.forward(pictures)));
        relu(self.linear.forward(maps.flatten(1, 3)))
    }
}
