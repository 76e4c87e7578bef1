use burn::module::Param;
use burn::nn::Linear;
use burn::tensor::{Tensor, TensorData};

use super::{Dense, NoisyLinear};
use crate::value_scale::Rescaling;

/// What becomes of the columns of a layer's output: column `i` of input `x` becomes `factors[i] * x + shifts[i]`.
#[derive(Clone, Debug)]
pub(super) struct ColumnRescaling {
    factors: Vec<f32>,
    shifts: Vec<f32>,
}

impl ColumnRescaling {
    /// Of layers with so many columns for each task, task after task.
    pub(super) fn new(changes: &[Rescaling], columns: usize) -> Self {
        let repeated = |number: fn(&Rescaling) -> f32| {
            changes.iter().flat_map(|change| std::iter::repeat_n(number(change), columns)).collect()
        };
        Self { factors: repeated(|change| change.factor), shifts: repeated(|change| change.shift) }
    }

    /// The same without the shifts, for what is added to something that is shifted.
    pub(super) fn factors_only(self) -> Self {
        Self { shifts: vec![0.0; self.factors.len()], ..self }
    }

    /// A layer whose output is rescaled.
    pub(super) fn linear(&self, mut layer: Linear) -> Linear {
        layer.weight = scaled(layer.weight, &self.factors);
        layer.bias = layer.bias.map(|bias| shifted(scaled(bias, &self.factors), &self.shifts));
        layer
    }

    /// The same of a layer with or without noise, which is rescaled too.
    pub(super) fn dense(&self, layer: Dense) -> Dense {
        match layer {
            Dense::Plain(linear) => Dense::Plain(self.linear(linear)),
            Dense::Noisy(NoisyLinear { weight, bias, weight_sigma, bias_sigma }) => {
                Dense::Noisy(NoisyLinear {
                    weight: scaled(weight, &self.factors),
                    bias: shifted(scaled(bias, &self.factors), &self.shifts),
                    weight_sigma: scaled(weight_sigma, &self.factors),
                    bias_sigma: scaled(bias_sigma, &self.factors),
                })
            }
        }
    }
}

/// A parameter whose last axis are the columns, times their factors.
fn scaled<const D: usize>(param: Param<Tensor<D>>, factors: &[f32]) -> Param<Tensor<D>> {
    replaced(param, |tensor| {
        let factors = row(factors, &tensor);
        tensor * factors
    })
}

/// A parameter whose last axis are the columns, plus their shifts.
fn shifted<const D: usize>(param: Param<Tensor<D>>, shifts: &[f32]) -> Param<Tensor<D>> {
    replaced(param, |tensor| {
        let shifts = row(shifts, &tensor);
        tensor + shifts
    })
}

/// A number for each column, on the device of a tensor.
fn row<const D: usize>(numbers: &[f32], of: &Tensor<D>) -> Tensor<D> {
    let data = TensorData::new(numbers.to_vec(), [numbers.len()]);
    Tensor::<1>::from_data(data, &of.device()).unsqueeze()
}

/// A parameter with another value, which has gradients where the old one had.
fn replaced<const D: usize>(
    param: Param<Tensor<D>>,
    replace: impl FnOnce(Tensor<D>) -> Tensor<D>,
) -> Param<Tensor<D>> {
    param.map(|old| {
        let (learns, requires) = (old.is_autodiff(), old.is_require_grad());
        let new = replace(old.inner());
        if learns { Tensor::from_inner(new).set_require_grad(requires) } else { new }
    })
}
