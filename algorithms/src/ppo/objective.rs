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

/// The names of the terms; the last ones are those of intrinsic rewards.
const TERMS: &[&str] = &[
    "the policy loss",
    "the value loss",
    "the entropy",
    "the loss of the predictor",
    "the loss of the intrinsic values",
];

/// The number of terms without intrinsic rewards.
const PLAIN_TERMS: usize = 3;

/// Returns the names of the terms.
pub(super) fn terms(config: &PpoConfig) -> &'static [&'static str] {
    if config.rnd.enabled { TERMS } else { &TERMS[..PLAIN_TERMS] }
}

/// Computes PPO's objective for a minibatch, negated for minimisation (equation 9 of the paper):
/// `policy_loss - ent_coef * entropy + vf_coef * value_loss`. Its details are the log-ratios of all transitions and,
/// with several tasks, their entropies, their value errors and the norms of the gradients of all rows' features. With
/// intrinsic rewards, it adds the loss of the predictor and `vf_coef` times that of the intrinsic values.
pub(super) fn loss(
    config: &PpoConfig,
    network: &ActorCritic,
    minibatch: Minibatch,
    split: &mut SplitPoint,
) -> Loss {
    let Minibatch { observations, rows, sequences, transitions, actions, advantages, targets, rnd } =
        minibatch;
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
    let mut total = policy_loss.clone() - bonus.mul_scalar(config.ent_coef)
        + value_loss.clone().mul_scalar(config.vf_coef);

    let columns = if probe.is_some() { vec![log_ratio, entropies, value_errors] } else { vec![log_ratio] };
    let details = Details { values: Tensor::cat(columns, 0), probe };
    let mut terms = vec![policy_loss, value_loss, entropy];
    if let Some(rnd) = rnd {
        let [predictor_loss, intrinsic_loss] = rnd.losses(network, outputs.intrinsic_values);
        total = total + predictor_loss.clone() + intrinsic_loss.clone().mul_scalar(config.vf_coef);
        terms.extend([predictor_loss, intrinsic_loss]);
    }
    Loss { total, terms, details }
}
