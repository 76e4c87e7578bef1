//! Networks: a torso maps observations to features, and heads map features to logits and values.

use burn::tensor::Device;

mod actor_critic;
mod body;
mod conv;
mod convolutions;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
mod device;
mod flex;
mod groups;
mod heads;
mod impala;
mod init;
mod layer_norm;
mod linear;
mod lstm;
mod mask;
mod max_pool;
mod noisy;
mod norm;
mod observation;
mod packed;
mod policy_config;
mod precision;
mod products;
mod q_network;
mod rescale;
mod row_tasks;
mod soft_actor_critic;
mod soft_update;
mod tanh;
#[cfg(test)]
mod tests;
mod torch;
mod transfer;
mod weights;

pub use actor_critic::{ActorCritic, Outputs};
pub use conv::Conv;
pub use heads::Heads;
pub(crate) use init::standard_normal;
pub use init::{Initializer, orthogonal};
pub use lstm::{LstmState, Sequences};
pub use mask::{ILLEGAL_LOGIT, illegal_actions, mask_logits};
pub use noisy::{Dense, LayerNoise, NoisyLinear};
pub use observation::ObservationLayout;
pub(crate) use packed::{FrameStacks, PackedRows};
pub use policy_config::{Deviation, HeadKind, PolicyConfig, TorsoKind};
pub use precision::Precision;
pub use products::Computation;
pub use products::half::Bf16Arithmetic;
pub use q_network::{Noise, QNetwork, QNetworkOptions};
pub use row_tasks::RowTasks;
pub use soft_actor_critic::{SoftActorCritic, SquashedActor, SquashedOutputs, TwinCritic};
pub use soft_update::soft_update;
pub(crate) use transfer::NewScales;
pub use transfer::{Difference, NetworkDescription, TrainedNetwork, TransferError, Transferred};
pub(crate) use transfer::{TEMPERATURE, of_known_tasks, transfer};
pub use weights::{NamedWeights, load_weights, weights};

/// Returns true if a device is the CPU, with or without autodiff.
pub(crate) fn on_cpu(device: &Device) -> bool {
    #[cfg(test)]
    if crate::testing::is_device_simulated() {
        return false;
    }
    *device == Device::flex()
}
