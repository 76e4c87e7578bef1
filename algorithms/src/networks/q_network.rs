use std::ops::Range;

use burn::module::Module;
use burn::tensor::{Device, Tensor};
use kernels::Computation;
use rand::Rng;
use rand_chacha::ChaCha8Rng;

use super::body::{Body, VectorLayers};
use super::heads::ActionColumns;
use super::norm::Activation;
use super::rescale::ColumnRescaling;
use super::{
    Bf16Arithmetic, Dense, Initializer, LayerNoise, ObservationLayout, PolicyConfig, RowTasks, TaskNetwork,
};
use crate::VectorSpec;
use crate::networks::value_scale::Rescaling;

/// Options of a [`QNetwork`] that depend on the algorithm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QNetworkOptions {
    /// The number of outputs per action: 1 for its value, more for the distribution of its return.
    pub num_atoms: usize,
    /// True to add a state value to the advantages of the actions.
    pub dueling: bool,
    /// Initial scale of the noise of the fully connected layers; they are plain if absent.
    pub noisy_sigma: Option<f64>,
    /// True if layers are normalised before every activation by default.
    pub layer_norm: bool,
}

/// A hidden layer with its activation, and an output layer.
#[derive(Module, Debug)]
pub(super) struct QHead {
    hidden: Dense,
    activation: Activation,
    output: Dense,
    /// The arithmetic of the hidden layer's products of 16-bit numbers on the CPU; `None` for 32 bits.
    #[module(skip)]
    arithmetic: Option<Bf16Arithmetic>,
}

/// The noise of the layers of a head.
#[derive(Clone, Debug)]
struct QHeadNoise {
    hidden: Option<LayerNoise>,
    output: Option<LayerNoise>,
}

/// The noise of a network, for one or more forward passes: for each row, or the same for all rows.
#[derive(Clone, Debug)]
pub struct Noise {
    advantage: QHeadNoise,
    value: Option<QHeadNoise>,
}

impl Noise {
    /// Returns the noise of some of the rows for which it was drawn.
    pub(crate) fn of_rows(&self, rows: &Range<usize>) -> Self {
        let part = |head: &QHeadNoise| {
            let layer = |noise: &Option<LayerNoise>| Some(noise.as_ref()?.of_rows(rows.clone()));
            QHeadNoise { hidden: layer(&head.hidden), output: layer(&head.output) }
        };
        Self { advantage: part(&self.advantage), value: self.value.as_ref().map(part) }
    }
}

/// A network for the action values, or return distributions, of every task: the configured torso for images, two layers
/// of 128 for vectors.
///
/// With `dueling` (Wang et al. 2016, <https://arxiv.org/abs/1511.06581>) two heads follow the body, and
/// `Q(s, a) = V(s) + A(s, a) - mean over legal a' of A(s, a')`; otherwise one.
///
/// If an action is several choices, every option has a value, and the mean is over the legal options of a choice
/// (Tavakoli et al. 2018, <https://arxiv.org/abs/1711.08946>, equation 1).
#[derive(Module, Debug)]
pub struct QNetwork {
    pub(super) body: Body,
    advantage: QHead,
    pub(super) value: Option<QHead>,
    columns: ActionColumns,
    num_atoms: usize,
}

/// Default width of both hidden layers for vector observations.
const VECTOR_WIDTH: usize = 128;

impl QNetwork {
    /// Creates a network for observations of `layout` and the tasks of `spec`.
    pub fn new(
        layout: ObservationLayout,
        spec: &VectorSpec,
        config: &PolicyConfig,
        options: QNetworkOptions,
        rng: &mut ChaCha8Rng,
        device: &Device,
    ) -> Self {
        let QNetworkOptions { num_atoms, dueling, noisy_sigma, layer_norm } = options;
        let layer_norm = config.layer_norm.unwrap_or(layer_norm);
        let mut initializer = Initializer { rng, device };
        let vector = VectorLayers { width: config.hidden_size.unwrap_or(VECTOR_WIDTH), tanh: false };
        let body = Body::new(layout, spec.tasks.len(), config, layer_norm, vector, &mut initializer);
        let features = body.features();
        let (width, arithmetic) = if layout.has_images() {
            (config.image_hidden_size(config.torso_for(layout)), config.arithmetic_on(device))
        } else {
            (vector.width, None)
        };
        let columns = ActionColumns::new(spec, config.head);
        let (layers, actions) = columns.layers();
        let mut head = |columns: usize| QHead {
            hidden: Dense::new(features, [width, 1], 2f64.sqrt(), noisy_sigma, &mut initializer),
            activation: Activation::new(width, layer_norm, false, device),
            output: Dense::new(width, [columns * num_atoms, layers], 1.0, noisy_sigma, &mut initializer),
            arithmetic,
        };
        let advantage = head(actions);
        let value = dueling.then(|| head(1));
        Self { body, advantage, value, columns, num_atoms }
    }

    /// Computes the outputs of each row's task, `[rows, max_outputs, num_atoms]`, for
    /// observations `[rows, length]` from [`ObservationLayout::tensor`]. The outputs of illegal actions are
    /// arbitrary.
    pub fn forward(&self, observations: Tensor<2>, rows: &RowTasks, noise: Option<&Noise>) -> Tensor<3> {
        self.outputs(self.body(observations, rows), rows, noise)
    }

    /// Computes the first half of [`forward`](Self::forward): the layers before the last hidden ones,
    /// `[rows, features]`.
    pub(crate) fn body(&self, observations: Tensor<2>, rows: &RowTasks) -> Tensor<2> {
        self.body.forward(observations, rows)
    }

    /// Computes the second half of [`forward`](Self::forward).
    pub(crate) fn outputs(&self, features: Tensor<2>, rows: &RowTasks, noise: Option<&Noise>) -> Tensor<3> {
        let tasks = self.columns.grouping(rows);
        let advantage = self.advantage.forward(features.clone(), tasks, noise.map(|noise| &noise.advantage));
        let advantage = self.columns.arrange(advantage, self.num_atoms, rows);
        let Some(value) = &self.value else { return advantage };
        let value = value.forward(features, tasks, noise.and_then(|noise| noise.value.as_ref()));
        let value = value.unsqueeze_dim(1);
        let mean = mean_of_legal(advantage.clone(), rows);
        advantage - mean + value
    }

    /// Draws noise for all layers, for `rows` rows, or with `rows = 1` the same noise for any number of rows. Returns
    /// `None` if the network has plain layers.
    pub fn draw_noise(&self, rows: usize, rng: &mut impl Rng, device: &Device) -> Option<Noise> {
        let is_noisy = matches!(self.advantage.hidden, Dense::Noisy(_));
        let (layers, _) = self.columns.layers();
        is_noisy.then(|| Noise {
            advantage: self.advantage.draw_noise(rows, layers, rng, device),
            value: self.value.as_ref().map(|value| value.draw_noise(rows, layers, rng, device)),
        })
    }
}

impl TaskNetwork for QNetwork {
    /// Requires a head per task.
    fn rescale_values(self, changes: &[Rescaling]) -> Self {
        let (_, actions) = self.columns.layers();
        let advantage = ColumnRescaling::new(changes, actions * self.num_atoms);
        // Advantages are differences, which a shift of all values does not change.
        let advantage = if self.value.is_some() { advantage.factors_only() } else { advantage };
        let value = ColumnRescaling::new(changes, self.num_atoms);
        Self {
            advantage: self.advantage.rescale(&advantage),
            value: self.value.map(|head| head.rescale(&value)),
            ..self
        }
    }
}

impl QHead {
    /// Computes the outputs of all tasks, or with `tasks` those of each row's task.
    fn forward(
        &self,
        features: Tensor<2>,
        tasks: Option<&RowTasks>,
        noise: Option<&QHeadNoise>,
    ) -> Tensor<2> {
        let layer =
            |layer: fn(&QHeadNoise) -> &Option<LayerNoise>| noise.and_then(|noise| layer(noise).as_ref());
        let hidden = self.activation.after(|rectify| {
            let computation = Computation::new(rectify, self.arithmetic);
            self.hidden.forward(features, None, layer(|noise| &noise.hidden), computation)
        });
        self.output.forward(hidden, tasks, layer(|noise| &noise.output), Computation::plain(false))
    }

    fn rescale(self, change: &ColumnRescaling) -> Self {
        Self { output: change.dense(self.output), ..self }
    }

    fn draw_noise(&self, rows: usize, layers: usize, rng: &mut impl Rng, device: &Device) -> QHeadNoise {
        QHeadNoise {
            hidden: self.hidden.draw_noise(rows, 1, rng, device),
            output: self.output.draw_noise(rows, layers, rng, device),
        }
    }
}

/// Computes the mean over each row's legal actions: `[rows, max_outputs, atoms]` to `[rows, 1, atoms]`. If actions have
/// several choices or illegal options, computes the mean over the legal options of each output's choice instead,
/// `[rows, max_outputs, atoms]`.
fn mean_of_legal(outputs: Tensor<3>, rows: &RowTasks) -> Tensor<3> {
    if !rows.choices().is_empty() {
        return means_of_choices(&outputs, rows.choices());
    }
    // The outputs of a state do not depend on its action mask.
    let illegal = rows.illegal_in_task().unsqueeze_dim::<3>(2);
    let counts = illegal.clone().bool_not().float().sum_dim(1);
    let [count, actions, atoms] = outputs.dims();
    outputs.mask_fill(illegal.expand([count, actions, atoms]), 0.0).sum_dim(1) / counts
}

/// Computes the mean over the legal outputs of the same choice for each output; 0 for illegal outputs.
fn means_of_choices(outputs: &Tensor<3>, choices: &[Tensor<2>]) -> Tensor<3> {
    let mean = |legal: &Tensor<2>| {
        let legal = legal.clone().unsqueeze_dim::<3>(2);
        // Tasks with fewer choices have no legal outputs.
        let counts = legal.clone().sum_dim(1).clamp_min(1.0);
        let mean = (outputs.clone() * legal.clone()).sum_dim(1) / counts;
        mean * legal
    };
    choices.iter().map(mean).reduce(|sum, mean| sum + mean).expect("at least one choice")
}

#[cfg(test)]
mod tests {
    use burn::optim::GradientsParams;
    use rand::SeedableRng;
    use rl_env::{AutoresetMode, Space};

    use super::*;
    use crate::networks::HeadKind;
    use crate::testing::random_spec;
    use crate::{JointActions, Task};

    const LAYOUT: ObservationLayout = ObservationLayout::Floats { length: 3 };

    fn spec() -> VectorSpec {
        let mut two = Task::new("two", 2);
        two.shared = vec![3, 1];
        VectorSpec {
            observation_space: Space::floats(3, -1.0, 1.0),
            tasks: vec![two, Task::new("four", 4)],
            task_ids: vec![1, 0, 1],
            shared_outputs: 4,
            autoreset_mode: AutoresetMode::SameStep,
        }
    }

    fn device() -> Device {
        Device::flex().autodiff()
    }

    fn network_of(layout: ObservationLayout, head: HeadKind, options: QNetworkOptions) -> QNetwork {
        let config = PolicyConfig { head, ..PolicyConfig::default() };
        QNetwork::new(
            layout,
            &spec(),
            &config,
            options,
            &mut ChaCha8Rng::seed_from_u64(1),
            &Device::flex().autodiff(),
        )
    }

    fn network(options: QNetworkOptions) -> QNetwork {
        network_of(LAYOUT, HeadKind::PerGame, options)
    }

    fn observations() -> Tensor<2> {
        Tensor::from_floats([[1.0, -2.0, 0.5], [0.3, 0.1, -1.0], [2.0, 2.0, 2.0]], &device())
    }

    fn rows() -> RowTasks {
        RowTasks::new([1, 0, 1].into_iter(), &spec().tasks, &device())
    }

    #[test]
    fn dueling_advantages_have_mean_zero_over_legal_actions() {
        let options = QNetworkOptions { num_atoms: 3, dueling: true, noisy_sigma: None, layer_norm: false };
        let network = network(options);
        let outputs = network.forward(observations(), &rows(), None);
        assert_eq!(outputs.dims(), [3, 4, 3]);
        let features = network.body.forward(observations(), &rows());
        let value = network.value.as_ref().unwrap().forward(features, Some(&rows()), None);
        // The mean over legal actions of Q is V.
        let mean = mean_of_legal(outputs, &rows()).squeeze_dim::<2>(1);
        let difference: f32 = (mean - value).abs().max().into_scalar();
        assert!(difference < 1e-5, "{difference}");
    }

    #[test]
    fn the_output_layer_of_each_task_is_orthogonal() {
        let options = QNetworkOptions { num_atoms: 2, dueling: true, noisy_sigma: None, layer_norm: false };
        let network = network(options);
        for (head, columns) in [(&network.advantage, 8), (network.value.as_ref().unwrap(), 2)] {
            let Dense::Plain(output) = &head.output else { panic!("a noisy layer") };
            for task in 0..2 {
                let own = output.weight.val().narrow(1, task * columns, columns);
                let products: Vec<f32> = own.clone().transpose().matmul(own).try_into_vec_as().unwrap();
                for (index, product) in products.into_iter().enumerate() {
                    let expected = f32::from(u8::from(index / columns == index % columns));
                    assert!((product - expected).abs() < 1e-5, "{index}: {product}");
                }
            }
        }
    }

    #[test]
    fn outputs_of_grouped_rows_are_those_of_all_tasks_for_the_task_of_each_row() {
        for (tasks, noisy_sigma) in [([1, 0, 1], None), ([1, 1, 1], None), ([1, 0, 1], Some(0.5))] {
            let rows = &RowTasks::new(tasks.into_iter(), &spec().tasks, &device());
            let options = QNetworkOptions { num_atoms: 3, dueling: true, noisy_sigma, layer_norm: false };
            let network = network(options);
            for head in [&network.advantage, network.value.as_ref().unwrap()] {
                let features = || network.body.forward(observations(), rows);
                let all = head.forward(features(), None, None);
                let [count, columns] = all.dims();
                let all = all.reshape([count, 2, columns / 2]);
                let row = |(row, task): (usize, usize)| all.clone().slice([row..row + 1, task..task + 1]);
                let picked =
                    Tensor::cat(tasks.into_iter().enumerate().map(row).collect(), 0).squeeze_dim::<2>(1);
                let difference = (picked - head.forward(features(), Some(rows), None)).abs().max();
                assert!(difference.into_scalar::<f32>() < 1e-5);
            }
        }
    }

    #[test]
    fn layer_norm_makes_outputs_independent_of_the_input_scale() {
        let options = QNetworkOptions { num_atoms: 1, dueling: false, noisy_sigma: None, layer_norm: true };
        let layout = ObservationLayout::Images { channels: 2, height: 36, width: 44 };
        let network = network_of(layout, HeadKind::PerGame, options);
        let values: Vec<f32> = (0..3 * layout.length()).map(|index| (index % 97) as f32 / 97.0).collect();
        let images = Tensor::<1>::from_floats(values.as_slice(), &device()).reshape([3, layout.length()]);
        let outputs = |scale: f32| -> Vec<f32> {
            network.forward(images.clone().mul_scalar(scale), &rows(), None).try_into_vec_as().unwrap()
        };
        // Biases are initially 0, so that the scale of the image does not matter.
        let (once, tenfold) = (outputs(1.0), outputs(10.0));
        assert!(
            once.iter().zip(&tenfold).all(|(once, tenfold)| (once - tenfold).abs() < 1e-2),
            "{once:?} {tenfold:?}"
        );
        assert!(once.iter().any(|value| value.abs() > 1e-2));
    }

    #[test]
    fn values_of_each_task_are_rescaled_separately() {
        let sigmas = [None, Some(0.5)];
        let options = sigmas.into_iter().flat_map(|noisy_sigma| {
            [false, true].map(|dueling| QNetworkOptions {
                num_atoms: 2,
                dueling,
                noisy_sigma,
                layer_norm: false,
            })
        });
        let changes = [Rescaling { factor: 0.5, shift: -3.0 }, Rescaling { factor: 4.0, shift: 7.0 }];
        for options in options {
            let network = network(options);
            let noise = network.draw_noise(1, &mut ChaCha8Rng::seed_from_u64(2), &device());
            let outputs = |network: &QNetwork| -> Vec<f32> {
                network.forward(observations(), &rows(), noise.as_ref()).try_into_vec_as().unwrap()
            };
            let (before, after) = (outputs(&network), outputs(&network.clone().rescale_values(&changes)));
            // Each row has four actions with two atoms; the rows belong to tasks 1, 0 and 1, with 4, 2 and 4
            // legal actions.
            for (row, task, legal) in [(0, 1, 4), (1, 0, 2), (2, 1, 4)] {
                let Rescaling { factor, shift } = changes[task];
                for index in row * 8..row * 8 + legal * 2 {
                    let expected = factor * before[index] + shift;
                    assert!((after[index] - expected).abs() < 1e-4, "{options:?} {index}: {}", after[index]);
                }
            }
        }
    }

    #[test]
    fn the_mean_ignores_illegal_actions() {
        let values = [[1.0, 3.0, 5.0, 7.0], [1.0, 3.0, 1e9, -1e9], [2.0, 2.0, 2.0, 6.0]];
        let values = Tensor::<2>::from_floats(values, &device()).unsqueeze_dim::<3>(2);
        let means: Vec<f32> = mean_of_legal(values, &rows()).try_into_vec_as().unwrap();
        assert_eq!(means, [4.0, 2.0, 3.0]);
    }

    #[test]
    fn means_of_several_choices_are_over_the_legal_options_of_each() {
        let factored = JointActions::factored(&[2, 3], vec![vec![0, 0], vec![0, 2], vec![1, 0]]).unwrap();
        let tasks = [
            Task::of_actions("factored", factored),
            Task::of_actions("product", JointActions::product(&[3, 2]).unwrap()),
            Task::new("single", 4),
        ];
        let rows = RowTasks::new([0, 1, 2].into_iter(), &tasks, &device());
        let values = [[1.0, 3.0, 5.0, 1e9, 7.0], [1.0, 2.0, 6.0, 5.0, 7.0], [2.0, 2.0, 2.0, 6.0, -1e9]];
        let values = Tensor::<2>::from_floats(values, &device()).unsqueeze_dim::<3>(2);
        let means: Vec<f32> = mean_of_legal(values, &rows).try_into_vec_as().unwrap();
        let expected = [[2.0, 2.0, 6.0, 0.0, 6.0], [3.0, 3.0, 3.0, 6.0, 6.0], [3.0, 3.0, 3.0, 3.0, 0.0]];
        assert_eq!(means, expected.concat());
    }

    #[test]
    fn outputs_change_with_the_noise_and_are_constant_without() {
        let options =
            QNetworkOptions { num_atoms: 1, dueling: true, noisy_sigma: Some(0.5), layer_norm: false };
        let network = network(options);
        let device = device();
        let outputs = |noise: Option<&Noise>| -> Vec<f32> {
            network.forward(observations(), &rows(), noise).try_into_vec_as().unwrap()
        };
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let [first, second] = [(), ()].map(|()| network.draw_noise(1, &mut rng, &device).unwrap());
        assert_ne!(outputs(Some(&first)), outputs(Some(&second)));
        assert_eq!(outputs(Some(&first)), outputs(Some(&first)));
        assert_eq!(outputs(None), outputs(None));
        let plain = self::network(QNetworkOptions { noisy_sigma: None, ..options });
        assert!(plain.draw_noise(1, &mut rng, &device).is_none());
    }

    #[test]
    fn a_shared_head_gives_the_same_value_to_an_action_in_every_task() {
        let options = QNetworkOptions { num_atoms: 2, dueling: false, noisy_sigma: None, layer_norm: false };
        let network = network_of(LAYOUT, HeadKind::Shared, options);
        let observation = || Tensor::<2>::from_floats([[1.0, -2.0, 0.5]; 2], &device());
        let rows = RowTasks::new([0, 1].into_iter(), &spec().tasks, &device());
        let values: Vec<f32> = network.forward(observation(), &rows, None).try_into_vec_as().unwrap();
        let (two, four) = values.split_at(8);
        // The first task's actions are the shared actions 3 and 1, the second task's are all of them.
        assert_eq!(two[..4], [&four[6..8], &four[2..4]].concat());
    }

    /// Returns the columns of the last layer that belong to legal actions of the rows' tasks.
    fn legal_columns(spec: &VectorSpec, head: HeadKind, atoms: usize) -> Vec<usize> {
        let actions = spec.task_ids.iter().flat_map(|&task| match head {
            HeadKind::PerGame => {
                let first = task * spec.max_outputs();
                (first..first + spec.tasks[task].actions.num_outputs()).collect()
            }
            HeadKind::Shared => spec.tasks[task].shared.clone(),
        });
        actions.flat_map(|action| action * atoms..(action + 1) * atoms).collect()
    }

    #[test]
    fn illegal_actions_receive_no_gradient() {
        for (seed, head) in (0..40).flat_map(|seed| [(seed, HeadKind::PerGame), (seed, HeadKind::Shared)]) {
            println!("seed {seed}, {head:?}");
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let (spec, dueling) = (random_spec(&mut rng), seed % 2 == 0);
            let options = QNetworkOptions { num_atoms: 2, dueling, noisy_sigma: None, layer_norm: false };
            let config = PolicyConfig { head, game_embedding: 3, ..PolicyConfig::default() };
            let network = QNetwork::new(LAYOUT, &spec, &config, options, &mut rng, &device());
            let rows = RowTasks::new(spec.task_ids.iter().copied(), &spec.tasks, &device());
            let count = spec.num_envs();
            let values: Vec<f32> = (0..count * 3).map(|index| (index % 7) as f32 - 3.0).collect();
            let observations = Tensor::<1>::from_floats(values.as_slice(), &device()).reshape([count, 3]);
            let values = network.forward(observations, &rows, None);
            let illegal = rows.illegal().unsqueeze_dim::<3>(2).expand(values.dims());
            let loss = values.square().mask_fill(illegal, 0.0).sum();
            let gradients = GradientsParams::from_grads(loss.backward(), &network);
            let Dense::Plain(output) = &network.advantage.output else { unreachable!("no noise") };
            let bias = output.bias.as_ref().unwrap();
            let gradient: Vec<f32> = gradients.get::<1>(bias.id).unwrap().try_into_vec_as().unwrap();
            let legal = legal_columns(&spec, head, 2);
            for (column, &value) in gradient.iter().enumerate() {
                assert!(value == 0.0 || legal.contains(&column), "{column}: {gradient:?}");
            }
        }
    }
}
