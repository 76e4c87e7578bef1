use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::optim::{Adam, AdamConfig, AdamState, AdaptiveMomentumState, GradientsParams, Optimizer as _};
use burn::tensor::{Device, Tensor, TensorData};
use serde::{Deserialize, Serialize};

use crate::LearnerError;

/// Adam over all parameters of a network, with the gradient scaled as a whole.
///
/// burn's own gradient clipping looks at each tensor by itself and its optimiser's record names parameters by random
/// numbers; this keeps moments in the order of the layers, so that equal states have equal bytes.
pub(crate) struct AdamOptimizer {
    adam: Adam,
    /// One for each parameter, in the order of the layers; `None` before its first gradient.
    states: Vec<Option<AdamState<1>>>,
}

/// Adam's moments of one parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Moments {
    /// Number of steps taken.
    time: u64,
    first: Vec<f32>,
    second: Vec<f32>,
}

impl AdamOptimizer {
    /// Adam with betas 0.9 and 0.999 and the given epsilon (Kingma and Ba 2015, <https://arxiv.org/abs/1412.6980>).
    pub(crate) fn new(epsilon: f32) -> Self {
        Self { adam: AdamConfig::new().with_epsilon(epsilon).build(), states: Vec::new() }
    }

    /// One step against `scale` times the gradients.
    pub(crate) fn step<M: Module>(
        &mut self,
        module: M,
        gradients: &mut GradientsParams,
        learning_rate: f64,
        scale: f32,
    ) -> M {
        let mut mapper = Step { optimizer: self, gradients, learning_rate, scale, index: 0 };
        module.map(&mut mapper)
    }

    /// The moments of all parameters.
    pub(crate) fn moments(&self) -> Result<Vec<Option<Moments>>, LearnerError> {
        let read = |tensor: &Tensor<1>| {
            tensor.clone().try_into_vec_as::<f32>().map_err(|error| LearnerError::Device(error.to_string()))
        };
        let moments = |state: &AdamState<1>| {
            let state = &state.momentum;
            Ok(Moments {
                time: state.time as u64,
                first: read(&state.moment_1)?,
                second: read(&state.moment_2)?,
            })
        };
        self.states.iter().map(|state| state.as_ref().map(moments).transpose()).collect()
    }

    /// Puts moments back that [`moments`](Self::moments) read for a network with `sizes` weights in its parameters.
    pub(crate) fn load_moments(
        &mut self,
        moments: Vec<Option<Moments>>,
        sizes: &[usize],
        device: &Device,
    ) -> Result<(), LearnerError> {
        let fits = |(moments, &size): (&Option<Moments>, &usize)| {
            moments.as_ref().is_none_or(|moments| [moments.first.len(), moments.second.len()] == [size; 2])
        };
        // Before the first step there are no moments at all.
        let complete = moments.is_empty() || moments.len() == sizes.len();
        if !complete || !moments.iter().zip(sizes).all(fits) {
            return Err(LearnerError::BadState("the optimiser's moments do not fit the network".into()));
        }
        let tensor = |values: Vec<f32>| {
            let shape = [values.len()];
            Tensor::from_data(TensorData::new(values, shape), device)
        };
        let state = |moments: Moments| {
            let (first, second) = (tensor(moments.first), tensor(moments.second));
            AdamState::new(AdaptiveMomentumState::new(moments.time as usize, first, second))
        };
        self.states = moments.into_iter().map(|moments| moments.map(state)).collect();
        Ok(())
    }
}

struct Step<'a> {
    optimizer: &'a mut AdamOptimizer,
    gradients: &'a mut GradientsParams,
    learning_rate: f64,
    scale: f32,
    /// Of the parameter that comes next.
    index: usize,
}

impl ModuleMapper for Step<'_> {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let states = &mut self.optimizer.states;
        if states.len() == self.index {
            states.push(None);
        }
        let state = &mut states[self.index];
        self.index += 1;
        let Some(gradient) = self.gradients.remove::<D>(param.id) else {
            return param;
        };
        let gradient = gradient.mul_scalar(self.scale);
        param.map(|weight| {
            let (shape, size) = (weight.dims(), weight.shape().num_elements());
            let (weight, gradient) = (weight.inner().reshape([size]), gradient.reshape([size]));
            let (weight, next) = self.optimizer.adam.step(self.learning_rate, weight, gradient, state.take());
            *state = next;
            Tensor::from_inner(weight.reshape(shape)).require_grad()
        })
    }
}

/// The length of the gradient of all parameters of `module` together, `[1]`:
/// the root of the sum of all squares.
pub(crate) fn global_norm(module: &impl Module, gradients: &GradientsParams) -> Tensor<1> {
    struct SumOfSquares<'a> {
        gradients: &'a GradientsParams,
        sums: Vec<Tensor<1>>,
    }
    impl ModuleVisitor for SumOfSquares<'_> {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            self.sums.extend(self.gradients.get::<D>(param.id).map(|gradient| gradient.square().sum()));
        }
    }
    let mut visitor = SumOfSquares { gradients, sums: Vec::new() };
    module.visit(&mut visitor);
    Tensor::cat(visitor.sums, 0).sum().sqrt()
}

/// The factor that shortens a gradient of length `norm` to `max_norm`, as `torch.nn.utils.clip_grad_norm_` has it.
pub(crate) fn clip_scale(norm: f32, max_norm: f32) -> f32 {
    (max_norm / (norm + 1e-6)).min(1.0)
}
