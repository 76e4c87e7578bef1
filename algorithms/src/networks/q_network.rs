use burn::module::Module;
use burn::nn::{LayerNorm, LayerNormConfig, Linear};
use burn::tensor::activation::relu;
use burn::tensor::{Device, Tensor};
use rand_chacha::ChaCha8Rng;

use super::{Dense, Initializer, LayerNoise, NatureConvs, ObservationLayout, RowTasks};
use crate::Task;

/// How a [`QNetwork`] is built.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QNetworkOptions {
    /// Numbers of each action: 1 for its value, more for the distribution of its return.
    pub num_atoms: usize,
    /// Whether values are the sum of a value of the observation and advantages of the actions.
    pub dueling: bool,
    /// The scale with which the noise of the fully connected layers begins; without it they have none.
    pub noisy_sigma: Option<f64>,
    /// Whether every layer is normalised before its rectifier (Ba et al. 2016, <https://arxiv.org/abs/1607.06450>).
    pub layer_norm: bool,
}

/// The layers that depend on what observations look like.
#[derive(Module, Debug)]
#[expect(clippy::large_enum_variant, reason = "a network has one body and is moved a few times an update")]
enum Body {
    Pictures(NatureConvs),
    Vector(Hidden),
}

/// A fully connected layer and its rectifier.
#[derive(Module, Debug)]
struct Hidden {
    linear: Linear,
    rectifier: Rectifier,
}

/// A rectifier, if wanted after a layer normalisation.
#[derive(Module, Debug)]
struct Rectifier {
    norm: Option<LayerNorm>,
}

/// A hidden layer with a rectifier, and an output layer.
#[derive(Module, Debug)]
struct Stream {
    hidden: Dense,
    rectifier: Rectifier,
    output: Dense,
}

/// The noise of a stream's layers.
#[derive(Clone, Debug)]
struct StreamNoise {
    hidden: Option<LayerNoise>,
    output: Option<LayerNoise>,
}

/// The noise of a network, for one or more passes.
#[derive(Clone, Debug)]
pub struct Noise {
    advantage: StreamNoise,
    value: Option<StreamNoise>,
}

/// Action values, or the distributions of returns, of every task: the network of Mnih et al. 2015 for pictures, two
/// layers of 128 for vectors.
///
/// With `dueling` (Wang et al. 2016, <https://arxiv.org/abs/1511.06581>) there are two streams after the body, and
/// `Q(s, a) = V(s) + A(s, a) - mean over legal a' of A(s, a')`; else there is one.
#[derive(Module, Debug)]
pub struct QNetwork {
    body: Body,
    advantage: Stream,
    value: Option<Stream>,
    max_actions: usize,
    num_atoms: usize,
}

/// Width of the hidden layers behind pictures.
const PICTURE_WIDTH: usize = 512;
/// Width of both hidden layers behind vectors.
const VECTOR_WIDTH: usize = 128;

impl QNetwork {
    /// A network for observations of `layout` and the given tasks.
    pub fn new(
        layout: ObservationLayout,
        tasks: &[Task],
        options: QNetworkOptions,
        rng: &mut ChaCha8Rng,
        device: &Device,
    ) -> Self {
        let QNetworkOptions { num_atoms, dueling, noisy_sigma, layer_norm } = options;
        let mut initializer = Initializer { rng, device };
        let rectifier =
            |width: usize| Rectifier { norm: layer_norm.then(|| LayerNormConfig::new(width).init(device)) };
        let (body, features, width) = match layout {
            ObservationLayout::Pictures { channels, height, width } => {
                let convs = NatureConvs::new([height, width, channels], layer_norm, &mut initializer);
                let features = convs.features();
                (Body::Pictures(convs), features, PICTURE_WIDTH)
            }
            ObservationLayout::Bytes { length } | ObservationLayout::Floats { length } => {
                let linear = initializer.linear(length, VECTOR_WIDTH, 2f64.sqrt());
                (
                    Body::Vector(Hidden { linear, rectifier: rectifier(VECTOR_WIDTH) }),
                    VECTOR_WIDTH,
                    VECTOR_WIDTH,
                )
            }
        };
        let max_actions = tasks.iter().map(|task| task.num_actions).max().unwrap_or(0);
        let mut stream = |columns: usize| Stream {
            hidden: Dense::new(features, width, 2f64.sqrt(), noisy_sigma, &mut initializer),
            rectifier: rectifier(width),
            output: Dense::new(width, tasks.len() * columns * num_atoms, 1.0, noisy_sigma, &mut initializer),
        };
        let advantage = stream(max_actions);
        let value = dueling.then(|| stream(1));
        Self { body, advantage, value, max_actions, num_atoms }
    }

    /// The numbers of every action of each row's own task, `[rows, max_actions, num_atoms]`, of observations
    /// `[rows, length]` as [`ObservationLayout::tensor`] makes them. Those of illegal actions mean nothing.
    pub fn forward(&self, observations: Tensor<2>, rows: &RowTasks, noise: Option<&Noise>) -> Tensor<3> {
        let features = match &self.body {
            Body::Pictures(convs) => convs.forward(observations),
            Body::Vector(hidden) => hidden.rectifier.forward(hidden.linear.forward(observations)),
        };
        let [count, _] = features.dims();
        let columns = self.max_actions * self.num_atoms;
        let advantage = self.advantage.forward(features.clone(), noise.map(|noise| &noise.advantage));
        let advantage = rows.pick(advantage, columns).reshape([count, self.max_actions, self.num_atoms]);
        let Some(value) = &self.value else { return advantage };
        let value = value.forward(features, noise.and_then(|noise| noise.value.as_ref()));
        let value = rows.pick(value, self.num_atoms).reshape([count, 1, self.num_atoms]);
        let mean = mean_of_legal(advantage.clone(), rows);
        advantage - mean + value
    }

    /// New noise for all layers; none if the network has none.
    pub fn draw_noise(&self, rng: &mut ChaCha8Rng, device: &Device) -> Option<Noise> {
        let is_noisy = matches!(self.advantage.hidden, Dense::Noisy(_));
        is_noisy.then(|| Noise {
            advantage: self.advantage.draw_noise(rng, device),
            value: self.value.as_ref().map(|value| value.draw_noise(rng, device)),
        })
    }
}

impl Rectifier {
    fn forward(&self, input: Tensor<2>) -> Tensor<2> {
        relu(match &self.norm {
            Some(norm) => norm.forward(input),
            None => input,
        })
    }
}

impl Stream {
    fn forward(&self, features: Tensor<2>, noise: Option<&StreamNoise>) -> Tensor<2> {
        let layer =
            |layer: fn(&StreamNoise) -> &Option<LayerNoise>| noise.and_then(|noise| layer(noise).as_ref());
        let hidden = self.rectifier.forward(self.hidden.forward(features, layer(|noise| &noise.hidden)));
        self.output.forward(hidden, layer(|noise| &noise.output))
    }

    fn draw_noise(&self, rng: &mut ChaCha8Rng, device: &Device) -> StreamNoise {
        StreamNoise {
            hidden: self.hidden.draw_noise(rng, device),
            output: self.output.draw_noise(rng, device),
        }
    }
}

/// The mean over each row's legal actions: `[rows, max_actions, atoms]` to `[rows, 1, atoms]`.
fn mean_of_legal(numbers: Tensor<3>, rows: &RowTasks) -> Tensor<3> {
    let illegal = rows.illegal().unsqueeze_dim::<3>(2);
    let counts = illegal.clone().bool_not().float().sum_dim(1);
    let [count, actions, atoms] = numbers.dims();
    numbers.mask_fill(illegal.expand([count, actions, atoms]), 0.0).sum_dim(1) / counts
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    const LAYOUT: ObservationLayout = ObservationLayout::Floats { length: 3 };

    fn tasks() -> Vec<Task> {
        [("two", 2), ("four", 4)]
            .map(|(name, num_actions)| Task { name: name.to_owned(), num_actions })
            .to_vec()
    }

    fn network(options: QNetworkOptions) -> QNetwork {
        QNetwork::new(LAYOUT, &tasks(), options, &mut ChaCha8Rng::seed_from_u64(1), &Device::flex())
    }

    fn observations() -> Tensor<2> {
        Tensor::from_floats([[1.0, -2.0, 0.5], [0.3, 0.1, -1.0], [2.0, 2.0, 2.0]], &Device::flex())
    }

    fn rows() -> RowTasks {
        RowTasks::new([1, 0, 1].into_iter(), &tasks(), &Device::flex())
    }

    #[test]
    fn dueling_advantages_have_mean_zero_over_legal_actions() {
        let options = QNetworkOptions { num_atoms: 3, dueling: true, noisy_sigma: None, layer_norm: false };
        let network = network(options);
        let outputs = network.forward(observations(), &rows(), None);
        assert_eq!(outputs.dims(), [3, 4, 3]);
        let Body::Vector(Hidden { linear, .. }) = &network.body else { unreachable!("vectors") };
        let features = relu(linear.forward(observations()));
        let value = rows().pick(network.value.as_ref().unwrap().forward(features, None), 3);
        // The mean over legal actions of Q is V.
        let mean = mean_of_legal(outputs, &rows()).squeeze_dim::<2>(1);
        let difference: f32 = (mean - value).abs().max().into_scalar();
        assert!(difference < 1e-5, "{difference}");
    }

    #[test]
    fn layer_norm_takes_scale_and_shift_out_of_every_layer() {
        let options = QNetworkOptions { num_atoms: 1, dueling: false, noisy_sigma: None, layer_norm: true };
        let layout = ObservationLayout::Pictures { channels: 2, height: 36, width: 44 };
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let network = QNetwork::new(layout, &tasks(), options, &mut rng, &Device::flex());
        let numbers: Vec<f32> = (0..3 * layout.length()).map(|index| (index % 97) as f32 / 97.0).collect();
        let pictures =
            Tensor::<1>::from_floats(numbers.as_slice(), &Device::flex()).reshape([3, layout.length()]);
        let outputs = |scale: f32| -> Vec<f32> {
            network.forward(pictures.clone().mul_scalar(scale), &rows(), None).try_into_vec_as().unwrap()
        };
        // Biases are 0 at the beginning, so that the scale of the picture does not matter.
        let (once, tenfold) = (outputs(1.0), outputs(10.0));
        assert!(
            once.iter().zip(&tenfold).all(|(once, tenfold)| (once - tenfold).abs() < 1e-2),
            "{once:?} {tenfold:?}"
        );
        assert!(once.iter().any(|number| number.abs() > 1e-2));
    }

    #[test]
    fn the_mean_leaves_illegal_actions_out() {
        let numbers = [[1.0, 3.0, 5.0, 7.0], [1.0, 3.0, 1e9, -1e9], [2.0, 2.0, 2.0, 6.0]];
        let numbers = Tensor::<2>::from_floats(numbers, &Device::flex()).unsqueeze_dim::<3>(2);
        let means: Vec<f32> = mean_of_legal(numbers, &rows()).try_into_vec_as().unwrap();
        assert_eq!(means, [4.0, 2.0, 3.0]);
    }

    #[test]
    fn noise_changes_outputs_and_its_absence_does_not() {
        let options =
            QNetworkOptions { num_atoms: 1, dueling: true, noisy_sigma: Some(0.5), layer_norm: false };
        let network = network(options);
        let device = Device::flex();
        let outputs = |noise: Option<&Noise>| -> Vec<f32> {
            network.forward(observations(), &rows(), noise).try_into_vec_as().unwrap()
        };
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let [first, second] = [(), ()].map(|()| network.draw_noise(&mut rng, &device).unwrap());
        assert_ne!(outputs(Some(&first)), outputs(Some(&second)));
        assert_eq!(outputs(Some(&first)), outputs(Some(&first)));
        assert_eq!(outputs(None), outputs(None));
        let plain = self::network(QNetworkOptions { noisy_sigma: None, ..options });
        assert!(plain.draw_noise(&mut rng, &device).is_none());
    }
}
