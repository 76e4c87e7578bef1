//! Networks: a torso maps observations to features, and heads map features to logits and values.

mod actor_critic;
mod body;
mod convolutions;
mod exploration;
mod groups;
mod heads;
mod impala;
mod init;
mod layout;
mod lstm;
mod mask;
mod noisy;
mod norm;
pub(crate) mod observation_statistics;
mod outputs;
mod policy_config;
mod q_network;
mod rescale;
mod row_tasks;
mod soft_actor_critic;
mod soft_update;
mod task_network;
#[cfg(test)]
mod tests;
mod torch;
mod transfer;
pub(crate) mod value_scale;
mod weights;

pub use actor_critic::ActorCritic;
pub use exploration::Exploration;
pub(crate) use exploration::ExplorationSizes;
pub use heads::Heads;
pub(crate) use init::standard_normal;
pub use init::{Initializer, orthogonal};
pub use kernels::{Bf16Arithmetic, Conv, ImageShape, MAX_IMAGES, ObservationLayout, Precision};
pub use layout::{MIN_PICTURE_SIDE, layout_of};
pub use lstm::{LstmState, Sequences};
pub use mask::{ILLEGAL_LOGIT, illegal_actions, mask_logits};
pub use noisy::{Dense, LayerNoise, NoisyLinear};
pub use outputs::Outputs;
pub use policy_config::{Deviation, HeadKind, PolicyConfig, TorsoKind};
pub use q_network::{Noise, QNetwork, QNetworkOptions};
pub use row_tasks::RowTasks;
pub use soft_actor_critic::{SoftActorCritic, SquashedActor, SquashedOutputs, TwinCritic};
pub use soft_update::soft_update;
pub use task_network::TaskNetwork;
pub use torch::TorchNames;
pub(crate) use torch::torch_weights;
pub(crate) use transfer::NewScales;
pub use transfer::{Difference, NetworkDescription, TrainedNetwork, TransferError, Transferred};
pub(crate) use transfer::{of_known_tasks, transfer};
pub use value_scale::{H_EPSILON, TaskScales, ValueScale};
pub use weights::{load_weights, weights};

pub use crate::named_weights::NamedWeights;
