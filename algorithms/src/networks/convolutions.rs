use burn::module::Module;
use burn::tensor::Tensor;

use super::norm::ImageNorm;
use super::{Conv, Initializer, PolicyConfig};

/// The smallest height and width of an image: the third convolution of a smaller one would have no output.
pub(super) const MIN_SIDE: usize = 36;

/// The convolutions of Mnih et al. 2015, "Human-level control through deep reinforcement learning": 32
/// kernels of 8 x 8 with stride 4, 64 of 4 x 4 with stride 2, 64 of 3 x 3; a ReLU after each, optionally
/// preceded by layer normalisation over the whole image.
#[derive(Module, Debug)]
pub(super) struct Nature {
    conv1: Conv,
    conv2: Conv,
    conv3: Conv,
    /// Layer normalisation between convolution and ReLU.
    norms: Option<[ImageNorm; 3]>,
}

impl Nature {
    /// Creates the convolutions for images of `[height, width, channels]`, each side at least [`MIN_SIDE`].
    /// Also returns the shape of their feature maps.
    pub(super) fn new(
        image: [usize; 3],
        layer_norm: bool,
        config: &PolicyConfig,
        initializer: &mut Initializer<'_>,
    ) -> (Self, [usize; 3]) {
        let [mut height, mut width, mut channels] = image;
        let wide = [32, 64, 64].map(|of_paper| config.channels(of_paper));
        let conv1 = initializer.conv([channels, wide[0]], 8, 4, !layer_norm);
        let conv2 = initializer.conv([wide[0], wide[1]], 4, 2, !layer_norm);
        let conv3 = initializer.conv([wide[1], wide[2]], 3, 1, !layer_norm);
        let norms = [&conv1, &conv2, &conv3].map(|conv| {
            (height, width) = (conv.output_side(height), conv.output_side(width));
            channels = conv.bias.dims()[0];
            layer_norm.then(|| ImageNorm::new([height, width, channels], initializer.device))
        });
        let norms = match norms {
            [Some(first), Some(second), Some(third)] => Some([first, second, third]),
            _ => None,
        };
        (Self { conv1, conv2, conv3, norms }, [height, width, channels])
    }

    /// Computes rectified feature maps `[rows, height, width, channels]` of images of the same layout with
    /// values in 0..=1.
    pub(super) fn forward(&self, mut maps: Tensor<4>) -> Tensor<4> {
        for (index, conv) in [&self.conv1, &self.conv2, &self.conv3].into_iter().enumerate() {
            maps = conv.forward(maps);
            if let Some(norms) = &self.norms {
                maps = norms[index].forward(maps);
            }
        }
        maps
    }
}
