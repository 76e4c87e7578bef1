//! PPO's objective: means over the rows of a minibatch.

use burn::tensor::Tensor;

use super::PpoConfig;
use super::loss::{Terms, clipped_value_errors, policy_loss, value_errors, value_loss};
use super::minibatch::{Minibatch, select};
use super::row_targets::RowTargets;
use crate::engine::backward::SplitPoint;
use crate::engine::loss::Loss;
use crate::engine::optimizer_step::Details;
use crate::networks::ActorCritic;

/// The names of the terms.
pub(super) const TERMS: &[&str] = &["the policy loss", "the value loss", "the entropy"];

/// Computes PPO's objective for a minibatch, negated for minimisation (equation 9 of the paper):
/// `policy_loss - ent_coef * entropy + vf_coef * value_loss`. Its details are the log-ratios of all transitions and,
/// with several tasks, their entropies, their value errors and the norms of the gradients of all rows' features.
pub(super) fn loss(
    config: &PpoConfig,
    network: &ActorCritic,
    minibatch: Minibatch,
    split: &mut SplitPoint,
) -> Loss {
    let Minibatch { observations, rows, sequences, transitions, actions, advantages, targets } = minibatch;
    let RowTargets { log_probs: old_log_probs, returns, values: old_values, entropy_weights } = targets;

    let body = split.pass(network.body(observations, &rows));
    let (features, _) = network.features(body, sequences);
    // The gradient of a zero that is added to the features equals the gradient of the features.
    let probe =
        (rows.num_tasks() > 1).then(|| Tensor::zeros(features.shape(), &features.device()).require_grad());
    let features = probe.iter().fold(features, |features, probe| features + probe.clone());
    let outputs = select(network.outputs(features, &rows), transitions.as_ref());
    let Terms { log_probs, entropies } = actions.terms(&outputs);

    let log_ratio = log_probs - old_log_probs;
    let policy_loss = policy_loss(log_ratio.clone(), advantages, config.clip_coef);
    let value_errors = if config.clip_vloss {
        clipped_value_errors(outputs.values, old_values, returns, config.clip_coef)
    } else {
        value_errors(outputs.values, returns)
    };
    let value_loss = value_loss(value_errors.clone());
    let entropy = entropies.clone().mean();
    let bonus = (entropies.clone() * entropy_weights).mean();
    let total = policy_loss.clone() - bonus.mul_scalar(config.ent_coef)
        + value_loss.clone().mul_scalar(config.vf_coef);

    let columns = if probe.is_some() { vec![log_ratio, entropies, value_errors] } else { vec![log_ratio] };
    let details = Details { values: Tensor::cat(columns, 0), probe };
    Loss { total, terms: vec![policy_loss, value_loss, entropy], details }
}
