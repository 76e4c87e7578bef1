//! Networks: a torso that turns observations into features, and heads that turn features into logits and values.

mod actor_critic;
mod conv;
mod heads;
mod init;
mod mask;
mod mlp;
mod nature;
mod noisy;
mod observation;
mod q_network;
mod soft_update;
mod torch;
mod weights;

pub use actor_critic::{ActorCritic, Outputs};
pub use conv::Conv;
pub use heads::{Heads, RowTasks};
pub use init::{Initializer, orthogonal};
pub use mask::{ILLEGAL_LOGIT, illegal_actions, mask_logits};
pub use mlp::Mlp;
pub use nature::{Nature, NatureConvs};
pub use noisy::{Dense, LayerNoise, NoisyLinear};
pub use observation::ObservationLayout;
pub use q_network::{Noise, QNetwork, QNetworkOptions};
pub use soft_update::soft_update;
pub use torch::torch_weights;
pub use weights::{NamedWeights, load_weights, weights};
