use burn::tensor::Tensor;
use kernels::host::floats;

use super::normalized::normalized_frames;
use super::state::Rnd;
use super::targets::IntrinsicTargets;
use crate::networks::ActorCritic;
use crate::ppo::Ppo;
use crate::ppo::loss::{value_errors, value_loss};

/// The tensors of a minibatch that the losses of intrinsic rewards need.
pub(in crate::ppo) struct RndRows {
    /// The normalised frames that the predictor learns from, `[frames, length]`.
    pub(in crate::ppo) frames: Tensor<2>,
    /// The intrinsic return of each transition, `[transitions]`.
    pub(in crate::ppo) returns: Tensor<1>,
}

impl RndRows {
    /// Collects the tensors of the transitions of a minibatch.
    pub(in crate::ppo) fn gather(
        ppo: &Ppo,
        rnd: &Rnd,
        transitions: &[usize],
        targets: &IntrinsicTargets,
    ) -> Self {
        let device = &ppo.on_policy.training.device;
        let share = ppo.config.rnd.update_proportion * transitions.len() as f32;
        // Minibatches are in random order, so their first transitions are random ones.
        let learned = &transitions[..(share.round() as usize).clamp(1, transitions.len())];
        let returns = transitions.iter().map(|&entry| targets.returns[entry]).collect();
        Self {
            frames: normalized_frames(&ppo.on_policy, rnd, learned, &targets.normalizer, device),
            returns: floats(returns, [transitions.len()], device),
        }
    }

    /// Computes the loss of the predictor, and that of the intrinsic values of the transitions, `[1]` each.
    pub(in crate::ppo) fn losses(self, network: &ActorCritic, values: Option<Tensor<1>>) -> [Tensor<1>; 2] {
        let parts = network.exploration().zip(values);
        let (exploration, values) = parts.expect("the networks of intrinsic rewards");
        [exploration.errors(self.frames).mean(), value_loss(value_errors(values, self.returns))]
    }
}
