//! Numbers of 16 bits for the layers behind pictures.
//!
//! What is large there, and little hurt by rounding, is calculated in them: convolutions and the fully connected layer after
//! them (Micikevicius et al. 2018, "Mixed precision training", <https://arxiv.org/abs/1710.03740>). Parameters, their gradients
//! and Adam's moments keep 32 bits, as do normalisations, memories, heads and losses.

use burn::nn::Linear;
use burn::tensor::module::linear;
use burn::tensor::{DType, Device, Tensor};
use serde::{Deserialize, Serialize};

use super::on_cpu;
use crate::ConfigError;
use crate::config_error::check;

/// The values that layers behind pictures calculate with on a device. The processor, which would not be faster with fewer
/// bits, has `f32` always.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// 32 bits.
    #[default]
    F32,
    /// 16 bits with the range of `f32` and 8 digits of 24.
    Bf16,
    /// 16 bits with 11 digits of 24, from 6e-8 to 65,504.
    F16,
}

impl Precision {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::F32, Self::Bf16, Self::F16];

    /// Of its name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|precision| precision.name() == name)
    }

    /// As a configuration has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::Bf16 => "bf16",
            Self::F16 => "f16",
        }
    }

    /// Fails if `device` cannot calculate with such values.
    pub(crate) fn validate_on(self, device: &Device) -> Result<(), ConfigError> {
        let works = |precision: &Self| device.supports_dtype(precision.effective_on(device).dtype());
        let possible: Vec<&str> =
            Self::ALL.iter().filter(|precision| works(precision)).map(|precision| precision.name()).collect();
        check("precision", &self.name(), works(&self), format!("{} on this device", possible.join(" or ")))
    }

    /// What comes of it on `device`.
    pub(super) fn effective_on(self, device: &Device) -> Self {
        if on_cpu(device) { Self::F32 } else { self }
    }

    pub(super) fn dtype(self) -> DType {
        match self {
            Self::F32 => DType::F32,
            Self::Bf16 => DType::BF16,
            Self::F16 => DType::F16,
        }
    }

    /// By how much a loss is multiplied before, and gradients are divided after they were calculated: a power of 2, so that
    /// nothing is rounded by it. In `f16` a gradient below 6e-8 would be 0; with this one below 2e-10 is, and one above 255
    /// is infinite, which ends the training.
    pub(crate) fn loss_scale(self, device: &Device) -> f32 {
        match self.effective_on(device) {
            Self::F16 => 256.0,
            Self::F32 | Self::Bf16 => 1.0,
        }
    }
}

/// A parameter as the kind of values that it meets. Its gradient is of its own kind again.
pub(super) fn cast_like<const D: usize, const E: usize>(
    parameter: Tensor<D>,
    other: &Tensor<E>,
) -> Tensor<D> {
    parameter.cast(other.dtype())
}

/// What a fully connected layer makes of `[rows, inputs]`: `[rows, outputs]`, as the same kind of values.
pub(super) fn fully_connected(layer: &Linear, input: Tensor<2>) -> Tensor<2> {
    let weight = cast_like(layer.weight.val(), &input);
    let bias = layer.bias.as_ref().map(|bias| cast_like(bias.val(), &input));
    linear(input, weight, bias)
}
