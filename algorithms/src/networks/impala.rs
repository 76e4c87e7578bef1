use burn::module::Module;
use burn::tensor::Tensor;
use burn::tensor::activation::relu;
use kernels::{max_pool, pooled_side};

use super::norm::ImageNorm;
use super::{Bf16Arithmetic, Conv, Initializer, PolicyConfig};

/// The large convolutional network of Espeholt et al. 2018, "IMPALA: Scalable distributed deep-RL with
/// importance weighted actor-learner architectures" (figure 3): three sections of 16, 32 and 32 channels, and
/// a ReLU.
///
/// With layer normalisation, a normalisation over the whole image precedes every ReLU.
#[derive(Module, Debug)]
pub(super) struct Impala {
    section0: Section,
    section1: Section,
    section2: Section,
    norm: Option<ImageNorm>,
}

/// A convolution, a max pooling of 3 x 3 pixels with stride 2, and two residual blocks.
#[derive(Module, Debug)]
struct Section {
    conv: Conv,
    res_block0: ResidualBlock,
    res_block1: ResidualBlock,
}

/// `x + conv1(relu(conv0(relu(x))))`.
#[derive(Module, Debug)]
struct ResidualBlock {
    conv0: Conv,
    conv1: Conv,
    norm0: Option<ImageNorm>,
    norm1: Option<ImageNorm>,
}

impl Impala {
    /// Creates the convolutions for images of `[height, width, channels]`. Also returns the shape of their
    /// feature maps.
    pub(super) fn new(
        image: [usize; 3],
        layer_norm: bool,
        config: &PolicyConfig,
        initializer: &mut Initializer<'_>,
    ) -> (Self, [usize; 3]) {
        let arithmetic = config.arithmetic_on(initializer.device);
        let mut image = image;
        let [section0, section1, section2] = [16, 32, 32].map(|channels_of_paper| {
            let outputs = config.channels(channels_of_paper);
            let conv = initializer.uniform_conv([image[2], outputs], false);
            let conv = Conv { arithmetic, ..conv };
            image = [pooled_side(image[0]), pooled_side(image[1]), outputs];
            let [res_block0, res_block1] =
                [(); 2].map(|()| ResidualBlock::new(image, layer_norm, arithmetic, initializer));
            Section { conv, res_block0, res_block1 }
        });
        let norm = layer_norm.then(|| ImageNorm::new(image, initializer.device));
        (Self { section0, section1, section2, norm }, image)
    }

    /// Computes rectified feature maps `[rows, height, width, channels]` of images of the same layout with
    /// values in 0..=1.
    pub(super) fn forward(&self, maps: Tensor<4>) -> Tensor<4> {
        let maps = [&self.section0, &self.section1, &self.section2]
            .into_iter()
            .fold(maps, |maps, section| section.forward(maps));
        rectify(self.norm.as_ref(), maps)
    }
}

impl Section {
    fn forward(&self, maps: Tensor<4>) -> Tensor<4> {
        let maps = max_pool(self.conv.forward(maps));
        self.res_block1.forward(self.res_block0.forward(maps))
    }
}

impl ResidualBlock {
    fn new(
        image: [usize; 3],
        layer_norm: bool,
        arithmetic: Option<Bf16Arithmetic>,
        initializer: &mut Initializer<'_>,
    ) -> Self {
        let channels = [image[2]; 2];
        let norm = || layer_norm.then(|| ImageNorm::new(image, initializer.device));
        let (norm0, norm1) = (norm(), norm());
        Self {
            conv0: Conv { arithmetic, ..initializer.uniform_conv(channels, !layer_norm) },
            conv1: Conv { arithmetic, ..initializer.uniform_conv(channels, false) },
            norm0,
            norm1,
        }
    }

    fn forward(&self, input: Tensor<4>) -> Tensor<4> {
        let maps = self.conv0.forward(rectify(self.norm0.as_ref(), input.clone()));
        // Without normalisation, the convolution has already applied the ReLU.
        let maps = match &self.norm1 {
            Some(norm) => norm.forward(maps),
            None => maps,
        };
        input + self.conv1.forward(maps)
    }
}

/// Applies a ReLU, after the normalisation if there is one.
fn rectify(norm: Option<&ImageNorm>, maps: Tensor<4>) -> Tensor<4> {
    match norm {
        Some(norm) => norm.forward(maps),
        None => relu(maps),
    }
}
