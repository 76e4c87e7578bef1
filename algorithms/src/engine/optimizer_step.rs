//! Results of optimiser steps, which may still be on a device.

use burn::tensor::{Gradients, Tensor};
use kernels::host::to_host;

use crate::LearnerError;
use crate::engine::unit_gradients::dead_units;

/// Values of a step that are reported with the terms of its loss.
pub(crate) struct Details {
    pub(crate) values: Tensor<1>,
    /// Zeros, `[rows, columns]`, on which the loss depends. The norm of each row of their gradient is appended to the
    /// values.
    pub(crate) probe: Option<Tensor<2>>,
}

impl Details {
    /// Returns the values of the step on the inner device, given the gradients of the loss times `loss_scale`.
    pub(crate) fn finish(self, gradients: &Gradients, loss_scale: f32) -> Tensor<1> {
        let values = self.values.inner();
        let Some(gradient) = self.probe.and_then(|probe| probe.grad(gradients)) else { return values };
        let norms = gradient.square().sum_dim(1).sqrt().squeeze_dim::<1>(1).div_scalar(loss_scale);
        Tensor::cat(vec![values, norms], 0)
    }
}

impl From<Tensor<1>> for Details {
    fn from(values: Tensor<1>) -> Self {
        Self { values, probe: None }
    }
}

/// A step that the optimiser has taken.
pub(crate) enum OptimizerStep {
    /// The result is known. This is always the case on the CPU.
    Ready(StepResult),
    /// The result is still on the device.
    Pending {
        /// Names of the first values; the last name is that of the gradient norm.
        names: Vec<&'static str>,
        /// Sizes of the layers whose gradients are the last values.
        layers: Vec<usize>,
        /// `[names + details + layers]`.
        values: Box<Tensor<1>>,
    },
}

/// Result of a step of the optimiser.
#[derive(Debug)]
pub struct StepResult {
    /// The terms in the order in which they were given.
    pub(crate) terms: Vec<f32>,
    /// Norm of the gradient of all parameters together, before clipping.
    pub(crate) grad_norm: f32,
    /// Share of the ReLU units that no row activated, in the layer with the largest share.
    pub(crate) dead_units: f32,
    pub(crate) details: Vec<f32>,
}

impl StepResult {
    /// Splits `terms` into the named ones, the details, and the gradients of the units of layers of the sizes `layers`.
    /// The last name is that of the gradient norm. Fails if a named value is not finite.
    pub(crate) fn new(
        names: &[&'static str],
        layers: &[usize],
        mut terms: Vec<f32>,
    ) -> Result<Self, LearnerError> {
        let units = terms.split_off(terms.len() - layers.iter().sum::<usize>());
        let details = terms.split_off(names.len());
        if let Some((name, _)) = names.iter().zip(&terms).find(|(_, value)| !value.is_finite()) {
            return Err(LearnerError::NonFinite { what: (*name).to_owned() });
        }
        let grad_norm = terms.pop().expect("the gradient norm is the last term");
        Ok(Self { terms, grad_norm, dead_units: dead_units(&units, layers), details })
    }
}

/// Reads the results of all steps, and the scalar `more`, `[1]`. Waits for the device once. An error is returned with
/// the index of its step.
pub(crate) fn read_steps(
    steps: Vec<OptimizerStep>,
    more: Option<Tensor<1>>,
) -> Result<(Vec<StepResult>, Option<f32>), (usize, LearnerError)> {
    let pending = steps.iter().filter_map(|step| match step {
        OptimizerStep::Ready(_) => None,
        OptimizerStep::Pending { values, .. } => Some(Tensor::clone(values)),
    });
    let all: Vec<Tensor<1>> = more.iter().cloned().chain(pending).collect();
    let values = if all.is_empty() { Ok(Vec::new()) } else { to_host(Tensor::cat(all, 0)) };
    let mut values = values.map_err(|error| (0, error.into()))?.into_iter();
    let more = more.and_then(|_| values.next());
    let read = |(index, step)| match step {
        OptimizerStep::Ready(result) => Ok(result),
        OptimizerStep::Pending { names, layers, values: tensor } => {
            let own = values.by_ref().take(tensor.dims()[0]).collect();
            StepResult::new(&names, &layers, own).map_err(|error| (index, error))
        }
    };
    let steps = steps.into_iter().enumerate().map(read).collect::<Result<_, _>>()?;
    Ok((steps, more))
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;

    fn step(values: [f32; 4]) -> OptimizerStep {
        let values = Tensor::from_floats(values, &Device::flex());
        let names = vec!["the loss", "the gradient norm"];
        OptimizerStep::Pending { names, layers: vec![1], values: Box::new(values) }
    }

    #[test]
    fn results_are_assigned_to_their_steps() {
        let more = Tensor::from_floats([9.0], &Device::flex());
        let steps = vec![step([1.0, 2.0, f32::NAN, 3.0]), step([4.0, 5.0, 6.0, 0.0])];
        let (steps, more) = read_steps(steps, Some(more)).unwrap();
        assert_eq!(more, Some(9.0));
        assert_eq!((steps[0].terms.as_slice(), steps[0].grad_norm), ([1.0].as_slice(), 2.0));
        assert_eq!((steps[1].grad_norm, steps[1].details.as_slice()), (5.0, [6.0].as_slice()));
        assert_eq!((steps[0].dead_units, steps[1].dead_units), (0.0, 1.0));
    }

    #[test]
    fn an_error_names_the_first_step_and_its_term() {
        let steps = vec![step([1.0; 4]), step([1.0, f32::INFINITY, 0.0, 0.0]), step([f32::NAN; 4])];
        let (index, error) =
            read_steps(steps, Some(Tensor::from_floats([0.0], &Device::flex()))).unwrap_err();
        assert_eq!((index, error.to_string()), (1, "the gradient norm is not finite".to_owned()));
    }
}
