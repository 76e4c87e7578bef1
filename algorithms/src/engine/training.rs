use burn::module::{Module, ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::tensor::{Device, Tensor};
use kernels::adam::{AdamOptimizer, GradientScale, Moments, clip_scale, clip_scale_on_device, global_norm};
use kernels::host::to_host;
use kernels::{on_cpu, sum_of_squares};
use rl_env::Batch;
use serde::{Deserialize, Serialize};

use crate::engine::backward::SplitPoint;
use crate::engine::gradient::Gradient;
use crate::engine::optimizer_step::{Details, OptimizerStep, StepResult, read_steps};
use crate::engine::unit_gradients::unit_gradients;
use crate::networks::{NamedWeights, ObservationLayout, Precision, load_weights, weights};
use crate::{Divergence, LearnerError, VectorSpec};

/// A network in training, with its optimiser.
#[derive(Clone)]
pub(crate) struct Training<N> {
    /// An autodiff device.
    pub(crate) device: Device,
    pub(crate) network: N,
    optimizer: AdamOptimizer,
    /// Factor of the loss before its gradient is computed.
    loss_scale: f32,
    /// Network and optimiser before the pending steps, on a device other than the CPU.
    last_finite: Option<Snapshot<N>>,
}

/// A snapshot of network and optimiser that can be restored.
#[derive(Clone)]
pub(crate) struct Snapshot<N> {
    network: N,
    optimizer: AdamOptimizer,
}

/// The learning rate and the clipping of one step of the optimiser.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OptimizerStepOptions {
    pub(crate) learning_rate: f64,
    /// The norm to which the gradient of all parameters together is clipped.
    pub(crate) max_grad_norm: Option<f32>,
}

/// Network and optimiser, as a checkpoint stores them.
#[derive(Serialize, Deserialize)]
pub(crate) struct TrainingState {
    weights: Vec<NamedWeights>,
    moments: Vec<Option<Moments>>,
}

impl<N: Module> Training<N> {
    /// Creates the training of a network whose parameters track gradients on `device`.
    pub(crate) fn new(network: N, adam_epsilon: f32, precision: Precision, device: Device) -> Self {
        let (optimizer, loss_scale) = (AdamOptimizer::new(adam_epsilon), precision.loss_scale(&device));
        Self { device, network, optimizer, loss_scale, last_finite: None }
    }

    /// Takes one step of the optimiser against the [gradient](Self::gradient) of `loss`.
    pub(crate) fn step(
        &mut self,
        loss: &Tensor<1>,
        terms: Vec<(&'static str, Tensor<1>)>,
        details: impl Into<Details>,
        options: OptimizerStepOptions,
    ) -> Result<OptimizerStep, LearnerError> {
        self.apply(self.gradient(loss, terms, details, SplitPoint::default()), options)
    }

    /// Computes the gradient of `loss`, with `terms` and `details` to report. Each term is a scalar with its name. If
    /// the backward pass is split, that of the body remains to be done.
    pub(crate) fn gradient(
        &self,
        loss: &Tensor<1>,
        terms: Vec<(&'static str, Tensor<1>)>,
        details: impl Into<Details>,
        split: SplitPoint,
    ) -> Gradient {
        let scaled_loss = loss.clone().mul_scalar(self.loss_scale);
        let gradients = scaled_loss.backward();
        let details = details.into().finish(&gradients, self.loss_scale);
        let body = split.body_backward(&gradients);
        let parameters = GradientsParams::from_grads(gradients, &self.network);
        let (names, terms): (Vec<_>, Vec<_>) = terms.into_iter().unzip();
        let terms = terms.into_iter().map(Tensor::inner).collect();
        Gradient { names, terms, details, parameters, body }
    }

    /// Takes one step of the optimiser against a complete gradient. The result holds its terms and details.
    ///
    /// On the CPU a non-finite term is an error, which leaves everything unchanged. On another device the
    /// host does not wait: such a term is reported when the step is [read](Self::read).
    pub(crate) fn apply(
        &mut self,
        gradient: Gradient,
        options: OptimizerStepOptions,
    ) -> Result<OptimizerStep, LearnerError> {
        let Gradient { mut names, terms, details, parameters: mut gradients, body } = gradient;
        debug_assert!(body.is_none(), "the backward pass is complete");
        names.push("the gradient norm");
        let unscale = self.loss_scale.recip();
        let norm = global_norm(&self.network, &gradients).mul_scalar(unscale);
        let units = unit_gradients(&self.network, &gradients);
        let layers: Vec<usize> = units.iter().map(|layer| layer.dims()[0]).collect();
        let values = Tensor::cat(terms.into_iter().chain([norm.clone(), details]).chain(units).collect(), 0);
        let (step, scale) = if on_cpu(&self.device) {
            let result = StepResult::new(&names, &layers, to_host(values)?)?;
            let scale = options.max_grad_norm.map_or(1.0, |max_norm| clip_scale(result.grad_norm, max_norm));
            (OptimizerStep::Ready(result), GradientScale::Host(scale * unscale))
        } else {
            if self.last_finite.is_none() {
                self.last_finite = Some(self.snapshot());
            }
            let scale = options.max_grad_norm.map_or(GradientScale::Host(unscale), |max_norm| {
                GradientScale::Device(Box::new(clip_scale_on_device(norm, max_norm).mul_scalar(unscale)))
            });
            (OptimizerStep::Pending { names, layers, values: Box::new(values) }, scale)
        };
        let network = self.network.clone();
        self.network = self.optimizer.step(network, &mut gradients, options.learning_rate, scale);
        Ok(step)
    }

    /// Reads the results of all steps since the last read. Waits for the device once. If a term or a weight is not
    /// finite, all these steps are undone, and the error is returned with the index of the step.
    pub(crate) fn read(
        &mut self,
        steps: Vec<OptimizerStep>,
    ) -> Result<Vec<StepResult>, (usize, LearnerError)> {
        let last = steps.len().saturating_sub(1);
        let Some(last_finite) = self.last_finite.take() else {
            return read_steps(steps, None).map(|(steps, _)| steps);
        };
        let read = read_steps(steps, Some(weights_squared(&self.network)));
        let result = read.and_then(|(steps, squares)| {
            // The sum of squares may overflow although every weight is finite.
            if squares.is_some_and(|squares| !squares.is_finite()) {
                self.finite_weights().map_err(|error| (last, error))?;
            }
            Ok(steps)
        });
        if result.is_err() {
            self.roll_back(last_finite);
        }
        result
    }

    /// Takes a snapshot of the current moment. Tensors share their memory with it.
    pub(crate) fn snapshot(&self) -> Snapshot<N> {
        Snapshot { network: self.network.clone(), optimizer: self.optimizer.clone() }
    }

    /// Undoes all steps since a snapshot, including those that have not been read.
    pub(crate) fn roll_back(&mut self, snapshot: Snapshot<N>) {
        Snapshot { network: self.network, optimizer: self.optimizer } = snapshot;
        self.last_finite = None;
    }

    /// Reads a single step.
    pub(crate) fn read_one(&mut self, step: OptimizerStep) -> Result<StepResult, LearnerError> {
        let results = self.read(vec![step]).map_err(|(_, error)| error)?;
        Ok(results.into_iter().next().expect("one step has one result"))
    }

    /// Returns all parameters. Fails if one is not finite.
    fn finite_weights(&self) -> Result<Vec<NamedWeights>, LearnerError> {
        let weights = weights(&self.network)?;
        for parameter in &weights {
            if parameter.values.iter().any(|value| !value.is_finite()) {
                return Err(LearnerError::NonFinite { what: format!("a weight of {}", parameter.name) });
            }
        }
        Ok(weights)
    }

    /// Fails if a weight is not finite. On a device other than the CPU, [`read`](Self::read) reports this
    /// instead.
    pub(crate) fn check_weights(&self) -> Result<(), LearnerError> {
        if on_cpu(&self.device) { self.finite_weights().map(drop) } else { Ok(()) }
    }

    /// Turns a `NonFinite` error into a report with the batch, whose `rows` are of the given tasks.
    pub(crate) fn diagnose(
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

    /// Like [`diagnose`](Self::diagnose), for the observations of `batch`, which the network could not
    /// evaluate.
    pub(crate) fn diagnose_acting(
        &self,
        error: LearnerError,
        updates: u64,
        learning_rate: f64,
        (spec, layout): (&VectorSpec, ObservationLayout),
        batch: &Batch,
    ) -> LearnerError {
        let name = |&env: &usize| spec.tasks[spec.task_ids[env]].name.as_str();
        let rows: Vec<&str> = batch.env_ids.iter().map(name).collect();
        let observations = (0..batch.len()).map(|row| batch.observations.row(row));
        let observations = NamedWeights::of_rows("observations", layout, observations);
        self.diagnose(error, updates, learning_rate, &rows, vec![observations])
    }

    /// Returns both moments of Adam, each as a network with the moments in place of the weights.
    #[cfg(test)]
    pub(crate) fn moments(&self) -> [N; 2] {
        let moments = self.optimizer.moments().expect("moments on the CPU");
        [|moments: Moments| moments.first, |moments: Moments| moments.second].map(|values_of| {
            let mut weights = weights(&self.network).expect("weights on the CPU");
            for (parameter, moments) in weights.iter_mut().zip(&moments) {
                // A parameter that is never trained has none.
                let zeros = vec![0.0; parameter.values.len()];
                parameter.values = moments.clone().map_or(zeros, values_of);
            }
            load_weights(self.network.clone(), weights).expect("the same parameters")
        })
    }

    /// Returns the number of steps of the optimiser, which are those of the first parameter.
    #[cfg(test)]
    pub(crate) fn steps(&self) -> u64 {
        let moments = self.optimizer.moments().expect("moments on the CPU");
        moments.first().and_then(Option::as_ref).map_or(0, |moments| moments.time)
    }

    /// Returns the state. Fails if a parameter is not finite, so that no checkpoint contains one.
    pub(crate) fn state(&self) -> Result<TrainingState, LearnerError> {
        Ok(TrainingState { weights: self.finite_weights()?, moments: self.optimizer.moments()? })
    }

    /// Restores a state that [`state`](Self::state) returned.
    pub(crate) fn restore(&mut self, state: TrainingState) -> Result<(), LearnerError> {
        let sizes: Vec<usize> = state.weights.iter().map(|parameter| parameter.values.len()).collect();
        self.network = load_weights(self.network.clone(), state.weights)?;
        let device = self.device.clone().without_autodiff();
        let loaded = self.optimizer.load_moments(state.moments, &sizes, &device);
        loaded.map_err(|error| LearnerError::BadState(error.to_string()))
    }
}

/// Returns the sum of squares of all parameters of `module`, `[1]`.
fn weights_squared(module: &impl Module) -> Tensor<1> {
    struct SumOfSquares(Vec<Tensor<1>>);
    impl ModuleVisitor for SumOfSquares {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            self.0.push(sum_of_squares(param.val().inner()));
        }
    }
    let mut visitor = SumOfSquares(Vec::new());
    module.visit(&mut visitor);
    Tensor::cat(visitor.0, 0).sum()
}
