use burn::module::Param;
use burn::nn::Linear;
use burn::tensor::{Tensor, TensorData};

use super::{Dense, NoisyLinear};
use crate::networks::value_scale::Rescaling;

/// Affine change of the output columns of a layer: output `x` of column `i` becomes `factors[i] * x + shifts[i]`.
#[derive(Clone, Debug)]
pub(super) struct ColumnRescaling {
    factors: Vec<f32>,
    shifts: Vec<f32>,
}

impl ColumnRescaling {
    /// Repeats the change of each task for its `columns` columns, task by task.
    pub(super) fn new(changes: &[Rescaling], columns: usize) -> Self {
        let repeated = |component: fn(&Rescaling) -> f32| {
            changes.iter().flat_map(|change| std::iter::repeat_n(component(change), columns)).collect()
        };
        Self { factors: repeated(|change| change.factor), shifts: repeated(|change| change.shift) }
    }

    /// Removes the shifts, for outputs that are added to a shifted one.
    pub(super) fn factors_only(self) -> Self {
        Self { shifts: vec![0.0; self.factors.len()], ..self }
    }

    /// Returns a layer with rescaled outputs.
    pub(super) fn linear(&self, mut layer: Linear) -> Linear {
        layer.weight = scaled(layer.weight, &self.factors);
        layer.bias = layer.bias.map(|bias| shifted(scaled(bias, &self.factors), &self.shifts));
        layer
    }

    /// Returns a plain or noisy layer with rescaled outputs, including the noise.
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

/// Multiplies a parameter whose last axis are the columns by their factors.
fn scaled<const D: usize>(param: Param<Tensor<D>>, factors: &[f32]) -> Param<Tensor<D>> {
    replaced(param, |tensor| {
        let factors = row(factors, &tensor);
        tensor * factors
    })
}

/// Adds the shifts to a parameter whose last axis are the columns.
fn shifted<const D: usize>(param: Param<Tensor<D>>, shifts: &[f32]) -> Param<Tensor<D>> {
    replaced(param, |tensor| {
        let shifts = row(shifts, &tensor);
        tensor + shifts
    })
}

/// Returns one value per column, on the device of a tensor.
fn row<const D: usize>(values: &[f32], like: &Tensor<D>) -> Tensor<D> {
    let data = TensorData::new(values.to_vec(), [values.len()]);
    Tensor::<1>::from_data(data, &like.device()).unsqueeze()
}

/// Replaces the value of a parameter, and keeps its gradient settings.
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
