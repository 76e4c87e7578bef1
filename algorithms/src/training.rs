use burn::module::Module;
use burn::optim::GradientsParams;
use burn::tensor::{Device, Tensor};
use rl_env::Batch;
use serde::{Deserialize, Serialize};

use crate::networks::{NamedWeights, ObservationLayout, load_weights, weights};
use crate::optimizer::{AdamOptimizer, Moments, clip_scale, global_norm};
use crate::{Divergence, EnvSpec, LearnerError};

/// A network that is being trained, and its optimiser.
pub(crate) struct Training<N> {
    /// With gradients.
    pub(crate) device: Device,
    pub(crate) network: N,
    optimizer: AdamOptimizer,
}

/// How far an optimiser goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StepSize {
    pub(crate) learning_rate: f64,
    /// The length to which the gradient of all parameters together is clipped.
    pub(crate) max_grad_norm: Option<f32>,
}

/// What was read after a step of the optimiser.
pub(crate) struct StepNumbers {
    /// In the order in which they were given.
    pub(crate) terms: Vec<f32>,
    /// Length of the gradient of all parameters together, before it was clipped.
    pub(crate) grad_norm: f32,
    pub(crate) details: Vec<f32>,
}

/// Network and optimiser as a checkpoint has them.
#[derive(Serialize, Deserialize)]
pub(crate) struct TrainingState {
    weights: Vec<NamedWeights>,
    moments: Vec<Option<Moments>>,
}

impl<N: Module> Training<N> {
    /// A network whose parameters track gradients on `device`.
    pub(crate) fn new(network: N, adam_epsilon: f32, device: Device) -> Self {
        Self { device, network, optimizer: AdamOptimizer::new(adam_epsilon) }
    }

    /// One step of the optimiser against the gradient of `loss`. Reads `terms`, each one number with its name, and any
    /// `details`, all at once, so that a device is waited for once a step. On an error, which a term that is not finite
    /// is, nothing has changed.
    pub(crate) fn step(
        &mut self,
        loss: &Tensor<1>,
        terms: Vec<(&'static str, Tensor<1>)>,
        details: Tensor<1>,
        size: StepSize,
    ) -> Result<StepNumbers, LearnerError> {
        let mut gradients = GradientsParams::from_grads(loss.backward(), &self.network);
        let (mut names, tensors): (Vec<_>, Vec<_>) = terms.into_iter().unzip();
        names.push("the gradient's norm");
        let tensors = tensors.into_iter().map(Tensor::inner);
        let norm = global_norm(&self.network, &gradients);
        let mut terms = host(Tensor::cat(tensors.chain([norm, details.inner()]).collect(), 0))?;
        let details = terms.split_off(names.len());
        if let Some((name, _)) = names.iter().zip(&terms).find(|(_, number)| !number.is_finite()) {
            return Err(LearnerError::NonFinite { what: (*name).to_owned() });
        }
        let grad_norm = terms.pop().expect("the norm is the last term");
        let scale = size.max_grad_norm.map_or(1.0, |max_norm| clip_scale(grad_norm, max_norm));
        let network = self.network.clone();
        self.network = self.optimizer.step(network, &mut gradients, size.learning_rate, scale);
        Ok(StepNumbers { terms, grad_norm, details })
    }

    /// All parameters; fails if one is not finite.
    pub(crate) fn sound_weights(&self) -> Result<Vec<NamedWeights>, LearnerError> {
        let weights = weights(&self.network)?;
        for parameter in &weights {
            if parameter.values.iter().any(|value| !value.is_finite()) {
                return Err(LearnerError::NonFinite { what: format!("a weight of {}", parameter.name) });
            }
        }
        Ok(weights)
    }

    /// Adds to an error about a number what the batch was, whose `rows` are of the given tasks.
    pub(crate) fn explain(
        &self,
        error: LearnerError,
        updates: u64,
        learning_rate: f64,
        rows: &[&str],
        batch: Vec<NamedWeights>,
    ) -> LearnerError {
        let LearnerError::NonFinite { what } = error else { return error };
        match weights(&self.network) {
            Ok(weights) => {
                let divergence = Divergence::new(what, updates, learning_rate, rows, batch, &weights);
                LearnerError::Diverged(Box::new(divergence))
            }
            Err(error) => error,
        }
    }

    /// The same of observations that a network could not judge, one of each environment of `spec`.
    pub(crate) fn explain_acting(
        &self,
        error: LearnerError,
        updates: u64,
        learning_rate: f64,
        (spec, layout): (&EnvSpec, ObservationLayout),
        batch: &Batch,
    ) -> LearnerError {
        let rows: Vec<&str> = spec.task_ids.iter().map(|&task| spec.tasks[task].name.as_str()).collect();
        let observations = (0..batch.len()).map(|row| batch.observations.row(row));
        let observations = layout.numbers("observations", observations);
        self.explain(error, updates, learning_rate, &rows, vec![observations])
    }

    /// Fails if a parameter is not finite, so that no checkpoint has such.
    pub(crate) fn state(&self) -> Result<TrainingState, LearnerError> {
        Ok(TrainingState { weights: self.sound_weights()?, moments: self.optimizer.moments()? })
    }

    /// Puts back what [`state`](Self::state) described.
    pub(crate) fn restore(&mut self, state: TrainingState) -> Result<(), LearnerError> {
        let sizes: Vec<usize> = state.weights.iter().map(|parameter| parameter.values.len()).collect();
        self.network = load_weights(self.network.clone(), state.weights)?;
        self.optimizer.load_moments(state.moments, &sizes, &self.device.clone().without_autodiff())
    }
}

/// The numbers of a tensor.
pub(crate) fn host<const D: usize>(tensor: Tensor<D>) -> Result<Vec<f32>, LearnerError> {
    tensor.try_into_vec_as::<f32>().map_err(|error| LearnerError::Device(error.to_string()))
}
