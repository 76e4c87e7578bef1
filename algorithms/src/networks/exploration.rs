//! The networks of Random Network Distillation (Burda et al. 2018, <https://arxiv.org/abs/1810.12894>).

use burn::module::Module;
use burn::nn::Linear;
use burn::tensor::Tensor;
use kernels::{Computation, fully_connected};

use super::body::Hidden;
use super::convolutions::{Convolutions, NATURE, small};
use super::norm::Activation;
use super::{ImageShape, Initializer, MIN_PICTURE_SIDE, ObservationLayout, PolicyConfig, RowTasks};

/// The number of fully connected layers that only the predictor has.
const FURTHER_LAYERS: usize = 2;

/// Sizes of the networks of Random Network Distillation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExplorationSizes {
    /// The layout of the frames: one image, or a vector.
    pub(crate) frames: ObservationLayout,
    /// The number of features of a frame, and the width of the fully connected layers.
    pub(crate) features: usize,
}

/// The parts of a network that only an agent with intrinsic rewards has: a value head for intrinsic returns, and two
/// networks that map frames to features. The predictor learns the features of the target, whose random weights never
/// change. Agents that do not learn need none of these parts.
#[derive(Module, Debug)]
pub struct Exploration {
    value: Linear,
    predictor: FrameNetwork,
    target: FrameNetwork,
}

/// A network that maps frames to features.
#[derive(Module, Debug)]
struct FrameNetwork {
    /// The first layers for images.
    convolutions: Option<Convolutions>,
    layers: Vec<Hidden>,
    output: Linear,
    /// Height, width and channels of an image.
    #[module(skip)]
    image: [usize; 3],
}

impl Exploration {
    /// Creates the networks, and a value head for each of `num_tasks` tasks over `features` features.
    pub(super) fn new(
        [features, num_tasks]: [usize; 2],
        sizes: ExplorationSizes,
        config: &PolicyConfig,
        initializer: &mut Initializer<'_>,
    ) -> Self {
        Self {
            value: initializer.linears(features, 1, num_tasks, 1.0),
            predictor: FrameNetwork::new(sizes, FURTHER_LAYERS, config, initializer),
            target: FrameNetwork::new(sizes, 0, config, initializer),
        }
    }

    /// Computes the intrinsic values of features `[rows, features]`, `[rows]`.
    pub(super) fn values(&self, features: Tensor<2>, rows: &RowTasks) -> Tensor<1> {
        rows.pick(fully_connected(&self.value, features, Computation::plain(false))).squeeze_dim(1)
    }

    /// Computes the mean squared error of the predicted features of normalised frames, `[rows, length]` to `[rows]`.
    /// Its gradient reaches only the predictor.
    pub(crate) fn errors(&self, frames: Tensor<2>) -> Tensor<1> {
        let features = self.target.forward(frames.clone()).detach();
        (self.predictor.forward(frames) - features).square().mean_dim(1).squeeze_dim(1)
    }
}

impl FrameNetwork {
    /// Creates a network with `num_layers` fully connected layers before its output. That for vectors has another one
    /// instead of convolutions.
    fn new(
        ExplorationSizes { frames, features }: ExplorationSizes,
        num_layers: usize,
        config: &PolicyConfig,
        initializer: &mut Initializer<'_>,
    ) -> Self {
        let image = frames.images().next();
        let convolutions = image.map(|image| convolutions(image, config, initializer));
        let (convolutions, inputs) = convolutions.unzip();
        let num_layers = num_layers + usize::from(convolutions.is_none());
        let inputs = inputs.unwrap_or(frames.length());
        let inputs_of = |layer: usize| if layer == 0 { inputs } else { features };
        let layers =
            (0..num_layers).map(|layer| rectified(inputs_of(layer), features, initializer)).collect();
        let output = initializer.linear(inputs_of(num_layers), features, 2f64.sqrt());
        let image = image.unwrap_or_default();
        Self { convolutions, layers, output, image: [image.height, image.width, image.channels] }
    }

    /// Maps `[rows, length]` to `[rows, features]`.
    fn forward(&self, frames: Tensor<2>) -> Tensor<2> {
        let [rows, _] = frames.dims();
        let [height, width, channels] = self.image;
        let features = match &self.convolutions {
            Some(convolutions) => {
                convolutions.forward(frames.reshape([rows, height, width, channels])).flatten(1, 3)
            }
            None => frames,
        };
        let features = self.layers.iter().fold(features, |features, layer| layer.forward(features));
        fully_connected(&self.output, features, Computation::plain(false))
    }
}

/// Creates the convolutions for an image. Also returns the number of their outputs.
fn convolutions(
    ImageShape { height, width, channels }: ImageShape,
    config: &PolicyConfig,
    initializer: &mut Initializer<'_>,
) -> (Convolutions, usize) {
    let kernels = if height.min(width) < MIN_PICTURE_SIDE { small(height, width) } else { NATURE };
    let image = [height, width, channels];
    let (convolutions, map) = Convolutions::new(kernels, image, false, config, initializer);
    (convolutions, map.iter().product())
}

/// Creates a fully connected layer with a ReLU.
fn rectified(inputs: usize, outputs: usize, initializer: &mut Initializer<'_>) -> Hidden {
    let linear = initializer.linear(inputs, outputs, 2f64.sqrt());
    Hidden::new(linear, Activation::new(outputs, false, false, initializer.device))
}

#[cfg(test)]
mod tests {
    use burn::optim::GradientsParams;
    use burn::tensor::Device;
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::networks::weights;
    use crate::testing::parameter_gradients;

    const IMAGES: ObservationLayout = ObservationLayout::Images { channels: 1, height: 36, width: 36 };
    const GRIDS: ObservationLayout = ObservationLayout::Images { channels: 3, height: 5, width: 6 };
    const VECTORS: ObservationLayout = ObservationLayout::Floats { length: 7 };

    fn exploration(frames: ObservationLayout, device: &Device) -> Exploration {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut initializer = Initializer { rng: &mut rng, device };
        let config = PolicyConfig { width: 0.25, ..PolicyConfig::default() };
        Exploration::new([4, 2], ExplorationSizes { frames, features: 6 }, &config, &mut initializer)
    }

    fn random_frames(count: usize, layout: ObservationLayout, device: &Device) -> Tensor<2> {
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let values: Vec<f32> = (0..count * layout.length()).map(|_| rng.random_range(-2.0..2.0)).collect();
        kernels::host::floats(values, [count, layout.length()], device)
    }

    #[test]
    fn gradients_of_errors_reach_every_weight_of_the_predictor_and_none_of_the_target() {
        let device = Device::flex().autodiff();
        for frames in [IMAGES, GRIDS, VECTORS] {
            let exploration = exploration(frames, &device);
            let errors = exploration.errors(random_frames(9, frames, &device));
            assert_eq!(errors.dims(), [9]);
            let gradients = GradientsParams::from_grads(errors.mean().backward(), &exploration);
            let count = weights(&exploration.predictor).unwrap().len();
            assert_eq!(gradients.len(), count, "only the predictor has gradients");
            assert!(parameter_gradients(&exploration.predictor, &gradients).len() == count);
        }
    }

    #[test]
    fn the_predictor_begins_with_other_weights_than_the_target() {
        let device = Device::flex();
        for frames in [IMAGES, GRIDS, VECTORS] {
            let errors = exploration(frames, &device).errors(random_frames(5, frames, &device));
            let errors: Vec<f32> = errors.try_into_vec_as().unwrap();
            assert!(errors.iter().all(|&error| error > 1e-3), "{errors:?}");
        }
    }
}
