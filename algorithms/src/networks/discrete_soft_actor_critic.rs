use burn::module::Module;
use burn::tensor::{Device, Tensor};
use rand_chacha::ChaCha8Rng;

use super::soft_actor_critic::WIDTH;
use super::{ObservationLayout, PolicyConfig, QNetwork, QNetworkOptions, RowTasks};
use crate::VectorSpec;

/// Two networks with different weights that estimate the same values of discrete actions. The smaller of both estimates
/// is less prone to overestimation (Fujimoto et al. 2018, <https://arxiv.org/abs/1802.09477>).
#[derive(Module, Debug)]
pub struct TwinQNetwork {
    pub(super) first: QNetwork,
    pub(super) second: QNetwork,
}

/// The policy and the values of SAC for discrete actions (Christodoulou 2019, <https://arxiv.org/abs/1910.07207>).
#[derive(Module, Debug)]
pub struct DiscreteSoftActorCritic {
    /// The policy, whose outputs are logits.
    pub actor: QNetwork,
    /// The values of actions.
    pub critics: TwinQNetwork,
}

impl TwinQNetwork {
    /// Computes both estimates of the values of all options of each row's task, `[rows, max_outputs]` each. Those
    /// beyond the outputs of the task are arbitrary.
    pub fn forward(&self, observations: Tensor<2>, rows: &RowTasks) -> [Tensor<2>; 2] {
        let first = self.first.forward(observations.clone(), rows, None);
        [first, self.second.forward(observations, rows, None)].map(|values| values.squeeze_dim(2))
    }
}

impl DiscreteSoftActorCritic {
    /// Creates networks for observations of `layout` and the tasks of `spec`. They share no layers.
    pub fn new(
        layout: ObservationLayout,
        spec: &VectorSpec,
        config: &PolicyConfig,
        rng: &mut ChaCha8Rng,
        device: &Device,
    ) -> Self {
        let options = QNetworkOptions { num_atoms: 1, dueling: false, noisy_sigma: None, layer_norm: false };
        let default = (!layout.has_images()).then_some(WIDTH);
        let config = PolicyConfig { hidden_size: config.hidden_size.or(default), ..config.clone() };
        let mut network = || QNetwork::new(layout, spec, &config, options, rng, device);
        let actor = network();
        Self { actor, critics: TwinQNetwork { first: network(), second: network() } }
    }
}
