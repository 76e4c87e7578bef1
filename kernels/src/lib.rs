//! Layers, optimiser and transfers for neural networks in burn.
//!
//! On the CPU, each operation is one pass that several threads share, and gives the same bits for any number of them.
//! On other devices, operations are kernels for cubecl, or burn's own.
//!
//! This crate knows nothing about reinforcement learning.
//!
//! * [`Conv`], [`fully_connected`], [`noisy_weight`], [`layer_norm`], [`max_pool`], [`tanh`]: layers and their
//!   gradients
//! * `products`: the matrix products on the CPU, in 32 and in 16 bits
//! * `device`: the matrix products on other devices
//! * [`ObservationLayout`], [`PackedRows`], [`FrameStacks`]: rows of bytes that become the input of a network
//! * [`adam`]: the optimiser
//! * [`host`]: transfers between the host and a device

use burn::tensor::Device;

pub mod adam;
mod conv;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
mod device;
mod flex;
pub mod host;
mod launches;
mod layer_norm;
mod linear;
mod max_pool;
mod noisy_weight;
mod observation;
mod packed;
mod precision;
mod products;
mod sum_of_squares;
mod tanh;
#[doc(hidden)]
pub mod testing;

pub use conv::Conv;
pub use layer_norm::layer_norm;
pub use linear::{affine, fully_connected};
pub use max_pool::{max_pool, pooled_side};
pub use noisy_weight::noisy_weight;
pub use observation::{ImageShape, MAX_IMAGES, ObservationLayout};
pub use packed::{FrameStacks, PackedRows};
pub use precision::{Precision, cast_like};
pub use products::Computation;
pub use products::half::{Bf16Arithmetic, PackedWeight};
pub use sum_of_squares::sum_of_squares;
pub use tanh::tanh;

/// Returns true if a device is the CPU, with or without autodiff.
pub fn on_cpu(device: &Device) -> bool {
    *device == Device::flex() && !testing::is_device_simulated()
}
