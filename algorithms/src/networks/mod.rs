//! Networks: a torso that turns observations into features, and heads that turn features into logits and values.

mod actor_critic;
mod conv;
mod heads;
mod init;
mod mask;
mod mlp;
mod nature;
mod observation;
mod weights;

pub use actor_critic::{ActorCritic, Outputs};
pub use conv::Conv;
pub use heads::{Heads, RowTasks};
pub use init::{Initializer, orthogonal};
pub use mask::{ILLEGAL_LOGIT, illegal_actions, mask_logits};
pub use mlp::Mlp;
pub use nature::Nature;
pub use observation::ObservationLayout;
pub use weights::{NamedWeights, load_weights, weights};
