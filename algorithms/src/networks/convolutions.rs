use burn::module::Module;
use burn::tensor::Tensor;

use super::norm::ImageNorm;
use super::{Conv, ImageShape, Initializer, PolicyConfig, TorsoKind};

/// The height and width from which small images have the convolutions of [`STRIDED`], so that the number of features
/// stays below about ten thousand.
const MIN_STRIDED_SIDE: usize = 16;

/// A convolution with a square kernel.
pub(super) struct Kernels {
    count: usize,
    side: usize,
    stride: usize,
}

const fn kernels(count: usize, side: usize, stride: usize) -> Kernels {
    Kernels { count, side, stride }
}

/// The convolutions of Mnih et al. 2015, "Human-level control through deep reinforcement learning".
pub(super) const NATURE: &[Kernels] = &[kernels(32, 8, 4), kernels(64, 4, 2), kernels(64, 3, 1)];

/// The convolutions of van Hasselt et al. 2019, "When to use parametric models in reinforcement learning?"
/// (<https://arxiv.org/abs/1906.05243>, appendix E).
pub(super) const DATA_EFFICIENT: &[Kernels] = &[kernels(32, 5, 5), kernels(64, 5, 5)];

/// The convolutions for `MiniGrid` of its documentation (`MinigridFeaturesExtractor`) and, without a pooling, of
/// `rl-starter-files`.
const SMALL: &[Kernels] = &[kernels(16, 2, 1), kernels(32, 2, 1), kernels(64, 2, 1)];

/// [`SMALL`] with strides for larger grids.
const STRIDED: &[Kernels] = &[kernels(16, 2, 1), kernels(32, 2, 2), kernels(64, 2, 2)];

/// Returns the convolutions for small images.
pub(super) const fn small(height: usize, width: usize) -> &'static [Kernels] {
    let is_strided = height >= MIN_STRIDED_SIDE && width >= MIN_STRIDED_SIDE;
    if is_strided { STRIDED } else { SMALL }
}

impl PolicyConfig {
    /// Returns the strides of the convolutions for an image; `None` for those of IMPALA.
    pub fn strides_for_image(&self, image: ImageShape) -> Option<Vec<usize>> {
        let kernels = match self.torso_for_image(image) {
            TorsoKind::Nature => NATURE,
            TorsoKind::DataEfficient => DATA_EFFICIENT,
            TorsoKind::Small => small(image.height, image.width),
            TorsoKind::Impala => return None,
        };
        Some(kernels.iter().map(|kernels| kernels.stride).collect())
    }
}

/// Two or three convolutions; a ReLU after each, optionally preceded by layer normalisation over the whole image.
#[derive(Module, Debug)]
pub(super) struct Convolutions {
    conv1: Conv,
    conv2: Conv,
    conv3: Option<Conv>,
    /// Layer normalisations between convolution and ReLU; empty without normalisation.
    norms: Vec<ImageNorm>,
}

impl Convolutions {
    /// Creates the convolutions for images of `[height, width, channels]`, which are large enough for the kernels.
    /// Also returns the shape of their feature maps.
    pub(super) fn new(
        layers: &[Kernels],
        image: [usize; 3],
        layer_norm: bool,
        config: &PolicyConfig,
        initializer: &mut Initializer<'_>,
    ) -> (Self, [usize; 3]) {
        let [mut height, mut width, mut channels] = image;
        let arithmetic = config.arithmetic_on(initializer.device);
        let mut norms = Vec::new();
        let convs: Vec<Conv> = layers
            .iter()
            .map(|layer| {
                let outputs = config.channels(layer.count);
                let conv = initializer.conv([channels, outputs], layer.side, layer.stride, !layer_norm);
                let conv = Conv { arithmetic, ..conv };
                (height, width) = (conv.output_side(height), conv.output_side(width));
                channels = outputs;
                if layer_norm {
                    norms.push(ImageNorm::new([height, width, channels], initializer.device));
                }
                conv
            })
            .collect();
        let mut convs = convs.into_iter();
        let (Some(conv1), Some(conv2), conv3) = (convs.next(), convs.next(), convs.next()) else {
            unreachable!("every torso has two or three convolutions");
        };
        (Self { conv1, conv2, conv3, norms }, [height, width, channels])
    }

    /// Computes rectified feature maps `[rows, height, width, channels]` of images of the same layout.
    pub(super) fn forward(&self, mut maps: Tensor<4>) -> Tensor<4> {
        for (index, conv) in [&self.conv1, &self.conv2].into_iter().chain(&self.conv3).enumerate() {
            maps = conv.forward(maps);
            if let Some(norm) = self.norms.get(index) {
                maps = norm.forward(maps);
            }
        }
        maps
    }
}
