//! The terms of PPO's objective, each a mean over the rows of a minibatch.
//!
//! Row `i` has the action `a_i` taken in the observation `s_i`; *old* is the network that chose it, *new* the one
//! that is being trained.

use burn::tensor::{Int, Tensor};

/// The log-probability of the action taken in each row: `[rows, actions]` and `[rows]` to `[rows]`.
pub(super) fn log_prob(log_probs: Tensor<2>, actions: Tensor<1, Int>) -> Tensor<1> {
    log_probs.gather(1, actions.unsqueeze_dim(1)).squeeze_dim(1)
}

/// The clipped surrogate objective, to be minimised (equation 7 of the paper, negated):
/// `mean(max(-A * ratio, -A * clamp(ratio, 1 - clip, 1 + clip)))` with `ratio = exp(log_ratio)`,
/// `log_ratio = log pi_new(a|s) - log pi_old(a|s)`. All `[rows]`; the result is `[1]`.
pub(super) fn policy_loss(log_ratio: Tensor<1>, advantages: Tensor<1>, clip_coef: f32) -> Tensor<1> {
    let ratio = log_ratio.exp();
    let clipped = ratio.clone().clamp(1.0 - clip_coef, 1.0 + clip_coef);
    let against = advantages.neg();
    (against.clone() * ratio).max_pair(against * clipped).mean()
}

/// Half the squared error of the values: `0.5 * mean((V_new - R)^2)`.
pub(super) fn value_loss(values: Tensor<1>, returns: Tensor<1>) -> Tensor<1> {
    (values - returns).square().mean().mul_scalar(0.5)
}

/// [`value_loss`], pessimistic about values that moved by more than `clip_coef`:
/// `0.5 * mean(max((V_new - R)^2, (V_old + clamp(V_new - V_old, -clip, clip) - R)^2))`.
pub(super) fn clipped_value_loss(
    values: Tensor<1>,
    old_values: Tensor<1>,
    returns: Tensor<1>,
    clip_coef: f32,
) -> Tensor<1> {
    let moved = (values.clone() - old_values.clone()).clamp(-clip_coef, clip_coef);
    let clipped = (old_values + moved - returns.clone()).square();
    (values - returns).square().max_pair(clipped).mean().mul_scalar(0.5)
}

/// The mean entropy of the policy, `mean(-sum over a of pi(a|s) * log pi(a|s))`, of log-probabilities
/// `[rows, actions]`. An action of probability 0 adds 0.
pub(super) fn entropy(log_probs: Tensor<2>) -> Tensor<1> {
    (log_probs.clone().exp() * log_probs).sum_dim(1).mean().neg()
}

/// How far the policy moved, from the log-ratios of the actions taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PolicyChange {
    /// `mean(-log_ratio)`: unbiased, but of high variance.
    pub(super) old_approx_kl: f32,
    /// `mean(ratio - 1 - log_ratio)`: unbiased, and never negative (<http://joschu.net/blog/kl-approx.html>).
    pub(super) approx_kl: f32,
    /// The part of rows whose ratio left `1 +- clip_coef`.
    pub(super) clipfrac: f32,
}

impl PolicyChange {
    /// Of at least one row.
    pub(super) fn of(log_ratios: &[f32], clip_coef: f32) -> Self {
        let mean = |term: &dyn Fn(f32) -> f32| {
            let sum: f64 = log_ratios.iter().map(|&log_ratio| f64::from(term(log_ratio))).sum();
            (sum / log_ratios.len() as f64) as f32
        };
        Self {
            old_approx_kl: mean(&|log_ratio| -log_ratio),
            approx_kl: mean(&|log_ratio| log_ratio.exp_m1() - log_ratio),
            clipfrac: mean(&|log_ratio| f32::from(log_ratio.exp_m1().abs() > clip_coef)),
        }
    }
}
