//! 16-bit floats for the layers that process images.
//!
//! Only operations that are large and insensitive to rounding use them: convolutions and the fully connected
//! layer after them (Micikevicius et al. 2018, "Mixed precision training",
//! <https://arxiv.org/abs/1710.03740>). Parameters, their gradients and Adam's moments stay in 32 bits, as do
//! normalisations, recurrent states, heads and losses.

use burn::tensor::{DType, Device, Tensor};
use serde::{Deserialize, Serialize};
use settings::{ConfigError, choices};

use super::on_cpu;

choices! {
    /// Floating-point format of the layers that process images.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub enum Precision {
        /// 32 bits.
        #[default]
        F32 = "f32",
        /// 16 bits with the range of `f32` and 8 bits of significand instead of 24.
        Bf16 = "bf16",
        /// 16 bits with 11 bits of significand instead of 24, from 6e-8 to 65,504.
        F16 = "f16",
    }
}

impl Precision {
    /// Fails if `device` does not support the format.
    pub fn validate_on(self, device: &Device) -> Result<(), ConfigError> {
        let works = |precision: &Self| device.supports_dtype(precision.effective_on(device).dtype());
        let possible: Vec<&str> =
            Self::ALL.iter().filter(|precision| works(precision)).map(|precision| precision.name()).collect();
        let allowed = format!("{} on this device", possible.join(" or "));
        ConfigError::unless(works(&self), "precision", &self.name(), allowed)
    }

    /// Returns the format of tensors on `device`. On the CPU tensors have 32 bits; products of 16-bit numbers round
    /// them.
    #[must_use]
    pub fn effective_on(self, device: &Device) -> Self {
        if on_cpu(device) { Self::F32 } else { self }
    }

    /// Returns the format of tensors.
    pub fn dtype(self) -> DType {
        match self {
            Self::F32 => DType::F32,
            Self::Bf16 => DType::BF16,
            Self::F16 => DType::F16,
        }
    }

    /// Returns the factor of the loss before gradients are computed; they are divided by it afterwards. It is
    /// a power of 2, so that scaling does not round. In `f16` a gradient below 6e-8 would become 0; with the
    /// factor, one below 2e-10 does, and one above 255 becomes infinite, which stops training.
    pub fn loss_scale(self, device: &Device) -> f32 {
        match self.effective_on(device) {
            Self::F16 => 256.0,
            Self::F32 | Self::Bf16 => 1.0,
        }
    }
}

/// Casts a parameter to the format of `other`. Its gradient is cast back.
pub fn cast_like<const D: usize, const E: usize>(parameter: Tensor<D>, other: &Tensor<E>) -> Tensor<D> {
    parameter.cast(other.dtype())
}

#[cfg(all(test, feature = "wgpu"))]
mod device_tests {
    use super::*;
    use crate::testing::gpus;

    #[test]
    fn an_unsupported_precision_is_an_error() {
        let without_bf16 = gpus().into_iter().filter(|gpu| !gpu.supports_dtype(DType::BF16));
        for gpu in without_bf16 {
            let refused = Precision::Bf16.validate_on(&gpu).expect_err("an unsupported format").to_string();
            assert!(refused.contains("precision = bf16 is invalid: it must be f32"), "{refused}");
        }
    }
}
