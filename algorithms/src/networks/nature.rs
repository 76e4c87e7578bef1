use burn::module::Module;
use burn::nn::{LayerNorm, LayerNormConfig, Linear};
use burn::tensor::Tensor;
use burn::tensor::activation::relu;

use super::{Conv, Initializer};

/// The convolutions of Mnih et al. 2015, "Human-level control through deep reinforcement learning": 32 kernels of
/// 8 x 8 at stride 4, 64 of 4 x 4 at stride 2, 64 of 3 x 3; a rectifier after each, and if wanted a layer normalisation
/// over the whole picture before it.
#[derive(Module, Debug)]
pub struct NatureConvs {
    conv1: Conv,
    conv2: Conv,
    conv3: Conv,
    /// Layer normalisation between convolution and rectifier.
    norms: Option<[LayerNorm; 3]>,
    #[module(skip)]
    picture: [usize; 3],
}

impl NatureConvs {
    /// Convolutions for pictures of `[height, width, channels]`, each side at least [`Nature::MIN_SIDE`].
    pub fn new(picture: [usize; 3], layer_norm: bool, initializer: &mut Initializer<'_>) -> Self {
        let [mut height, mut width, channels] = picture;
        let conv1 = initializer.conv([channels, 32], 8, 4, !layer_norm);
        let conv2 = initializer.conv([32, 64], 4, 2, !layer_norm);
        let conv3 = initializer.conv([64, 64], 3, 1, !layer_norm);
        let norms = [&conv1, &conv2, &conv3].map(|conv| {
            (height, width) = (conv.output_side(height), conv.output_side(width));
            LayerNormConfig::new(height * width * conv.bias.dims()[0]).init(initializer.device)
        });
        Self { conv1, conv2, conv3, norms: layer_norm.then_some(norms), picture }
    }

    /// Number of features.
    pub fn features(&self) -> usize {
        let left = |side| self.conv3.output_side(self.conv2.output_side(self.conv1.output_side(side)));
        let [height, width, _] = self.picture;
        64 * left(height) * left(width)
    }

    /// Features `[rows, features]` of pictures `[rows, height * width * channels]` with values in 0..=1, channels last.
    pub fn forward(&self, observations: Tensor<2>) -> Tensor<2> {
        let [rows, _] = observations.dims();
        let [height, width, channels] = self.picture;
        let mut maps = observations.reshape([rows, height, width, channels]);
        for (index, conv) in [&self.conv1, &self.conv2, &self.conv3].into_iter().enumerate() {
            maps = conv.forward(maps);
            if let Some(norms) = &self.norms {
                let shape = maps.dims();
                maps = relu(norms[index].forward(maps.flatten::<2>(1, 3))).reshape(shape);
            }
        }
        maps.flatten(1, 3)
    }
}

/// The torso of the same network: the convolutions, then 512 features and a rectifier.
#[derive(Module, Debug)]
pub struct Nature {
    convs: NatureConvs,
    linear: Linear,
}

impl Nature {
    /// Number of features.
    pub const FEATURES: usize = 512;
    /// The least height and width: smaller pictures leave nothing for the third convolution.
    pub const MIN_SIDE: usize = 36;

    /// A torso for pictures of `[height, width, channels]`, each side at least [`MIN_SIDE`](Self::MIN_SIDE).
    pub fn new(picture: [usize; 3], initializer: &mut Initializer<'_>) -> Self {
        let convs = NatureConvs::new(picture, false, initializer);
        let linear = initializer.linear(convs.features(), Self::FEATURES, 2f64.sqrt());
        Self { convs, linear }
    }

    /// Features `[rows, 512]` of pictures `[rows, height * width * channels]` with values in 0..=1, channels last.
    pub fn forward(&self, observations: Tensor<2>) -> Tensor<2> {
        relu(self.linear.forward(self.convs.forward(observations)))
    }
}
