use burn::module::Module;
use burn::nn::Linear;
use burn::tensor::{Device, Tensor};
use rand_chacha::ChaCha8Rng;

use super::body::Hidden;
use super::heads::ActionColumns;
use super::norm::Activation;
use super::{Initializer, PolicyConfig, RowTasks};
use crate::VectorSpec;

/// Bounds of the logarithm of a standard deviation, as in `CleanRL`.
const LOG_DEVIATIONS: [f64; 2] = [-5.0, 2.0];

/// Default width of both hidden layers.
pub(super) const WIDTH: usize = 256;

/// The two hidden layers of a network, with ReLU.
#[derive(Module, Debug)]
struct HiddenLayers {
    first: Hidden,
    second: Hidden,
}

/// The policy of SAC: a normal distribution for each component of an action, squashed into -1..1 by tanh. Mean and
/// standard deviation depend on the observation. Each task has its own head, or all tasks share one.
#[derive(Module, Debug)]
pub struct SquashedActor {
    hidden: HiddenLayers,
    mean: Linear,
    log_deviation: Linear,
    columns: ActionColumns,
}

/// The outputs of a [`SquashedActor`] before tanh. Columns beyond the components of a row's task are arbitrary.
#[derive(Clone, Debug)]
pub struct SquashedOutputs {
    /// `[rows, components]`.
    pub means: Tensor<2>,
    /// `[rows, components]`: logarithms of the standard deviations, from -5 to 2.
    pub log_deviations: Tensor<2>,
}

/// The value of an action, with an output for each task.
#[derive(Module, Debug)]
struct Critic {
    hidden: HiddenLayers,
    value: Linear,
}

/// Two networks with different weights that estimate the same values. The smaller of both estimates is less prone to
/// overestimation (Fujimoto et al. 2018, <https://arxiv.org/abs/1802.09477>).
#[derive(Module, Debug)]
pub struct TwinCritic {
    first: Critic,
    second: Critic,
}

/// The policy and the values of SAC.
#[derive(Module, Debug)]
pub struct SoftActorCritic {
    /// The policy.
    pub actor: SquashedActor,
    /// The values of actions.
    pub critics: TwinCritic,
}

impl HiddenLayers {
    fn new(inputs: usize, config: &PolicyConfig, initializer: &mut Initializer<'_>) -> Self {
        let width = width(config);
        let mut hidden = |inputs| {
            let linear = initializer.uniform_linear(inputs, width);
            let layer_norm = config.layer_norm.unwrap_or(false);
            Hidden::new(linear, Activation::new(width, layer_norm, false, initializer.device))
        };
        Self { first: hidden(inputs), second: hidden(width) }
    }

    /// Maps `[rows, inputs]` to `[rows, width]`.
    fn forward(&self, input: Tensor<2>) -> Tensor<2> {
        self.second.forward(self.first.forward(input))
    }
}

fn width(config: &PolicyConfig) -> usize {
    config.hidden_size.unwrap_or(WIDTH)
}

impl SquashedActor {
    fn new(
        length: usize,
        spec: &VectorSpec,
        config: &PolicyConfig,
        initializer: &mut Initializer<'_>,
    ) -> Self {
        let columns = ActionColumns::new(spec, config.head);
        let (layers, components) = columns.layers();
        let width = width(config);
        Self {
            hidden: HiddenLayers::new(length, config, initializer),
            mean: initializer.uniform_linear(width, layers * components),
            log_deviation: initializer.uniform_linear(width, layers * components),
            columns,
        }
    }

    /// Computes the distributions of the actions in observations `[rows, length]`.
    pub fn forward(&self, observations: Tensor<2>, rows: &RowTasks) -> SquashedOutputs {
        let features = self.hidden.forward(observations);
        let outputs = |layer: &Linear| self.columns.forward(layer, features.clone(), rows);
        let [low, high] = LOG_DEVIATIONS;
        let log_deviations = outputs(&self.log_deviation).tanh();
        let log_deviations =
            log_deviations.mul_scalar((high - low) / 2.0).add_scalar(f64::midpoint(low, high));
        SquashedOutputs { means: outputs(&self.mean), log_deviations }
    }
}

impl Critic {
    fn new(inputs: usize, tasks: usize, config: &PolicyConfig, initializer: &mut Initializer<'_>) -> Self {
        let hidden = HiddenLayers::new(inputs, config, initializer);
        Self { hidden, value: initializer.uniform_linear(width(config), tasks) }
    }

    /// Maps `[rows, inputs]` to `[rows]`.
    fn forward(&self, inputs: Tensor<2>, rows: &RowTasks) -> Tensor<1> {
        rows.pick(self.value.forward(self.hidden.forward(inputs))).squeeze_dim(1)
    }
}

impl TwinCritic {
    /// Computes both estimates, `[rows]` each, of the values of actions `[rows, components]` from -1 to 1 in
    /// observations `[rows, length]`. Components that a row's task lacks must be 0.
    pub fn forward(&self, observations: Tensor<2>, actions: Tensor<2>, rows: &RowTasks) -> [Tensor<1>; 2] {
        let inputs = Tensor::cat(vec![observations, actions], 1);
        [self.first.forward(inputs.clone(), rows), self.second.forward(inputs, rows)]
    }
}

impl SoftActorCritic {
    /// Creates networks for vectors of `length` values and the tasks of `spec`, initialised as in PyTorch.
    pub fn new(
        length: usize,
        spec: &VectorSpec,
        config: &PolicyConfig,
        rng: &mut ChaCha8Rng,
        device: &Device,
    ) -> Self {
        let mut initializer = Initializer { rng, device };
        let actor = SquashedActor::new(length, spec, config, &mut initializer);
        let inputs = length + spec.max_components();
        let mut critic = || Critic::new(inputs, spec.tasks.len(), config, &mut initializer);
        Self { actor, critics: TwinCritic { first: critic(), second: critic() } }
    }
}
