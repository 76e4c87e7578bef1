//! PPO's objective: means over the rows of a minibatch.
//!
//! Row `i` has the action `a_i` taken in the observation `s_i`. *Old* is the network that chose it, *new* the
//! one in training.

use burn::tensor::{Int, Tensor};

/// The terms of the objective that depend on the distribution of actions, `[rows]` each.
pub(super) struct Terms {
    /// The log-probability of the row's action; its log-density if it is continuous.
    pub(super) log_probs: Tensor<1>,
    /// The entropy of the row's policy.
    pub(super) entropies: Tensor<1>,
}

/// Returns the log-probability of each row's action: `[rows, actions]` and `[rows]` to `[rows]`.
pub(super) fn log_prob(log_probs: Tensor<2>, actions: Tensor<1, Int>) -> Tensor<1> {
    log_probs.gather(1, actions.unsqueeze_dim(1)).squeeze_dim(1)
}

/// Computes the clipped surrogate objective, negated for minimisation (equation 7 of the paper):
/// `mean(max(-A * ratio, -A * clamp(ratio, 1 - clip, 1 + clip)))` with `ratio = exp(log_ratio)` and
/// `log_ratio = log pi_new(a|s) - log pi_old(a|s)`. All are `[rows]`; the result is `[1]`.
pub(super) fn policy_loss(log_ratio: Tensor<1>, advantages: Tensor<1>, clip_coef: f32) -> Tensor<1> {
    let ratio = log_ratio.exp();
    let clipped = ratio.clone().clamp(1.0 - clip_coef, 1.0 + clip_coef);
    let against = advantages.neg();
    (against.clone() * ratio).max_pair(against * clipped).mean()
}

/// Computes half the mean of the rows' squared errors.
pub(super) fn value_loss(errors: Tensor<1>) -> Tensor<1> {
    errors.mean().mul_scalar(0.5)
}

/// Computes the squared error of each row's value, `(V_new - R)^2`.
pub(super) fn value_errors(values: Tensor<1>, returns: Tensor<1>) -> Tensor<1> {
    (values - returns).square()
}

/// Like [`value_errors`], but pessimistic for values that moved by more than `clip_coef`:
/// `max((V_new - R)^2, (V_old + clamp(V_new - V_old, -clip, clip) - R)^2)`.
pub(super) fn clipped_value_errors(
    values: Tensor<1>,
    old_values: Tensor<1>,
    returns: Tensor<1>,
    clip_coef: f32,
) -> Tensor<1> {
    let moved = (values.clone() - old_values.clone()).clamp(-clip_coef, clip_coef);
    let clipped = (old_values + moved - returns.clone()).square();
    (values - returns).square().max_pair(clipped)
}

/// Change of the policy, estimated from the log-ratios of the actions taken.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct PolicyChange {
    /// `mean(-log_ratio)`: unbiased, but of high variance.
    pub(super) old_approx_kl: f32,
    /// `mean(ratio - 1 - log_ratio)`: unbiased, and never negative (<http://joschu.net/blog/kl-approx.html>).
    pub(super) approx_kl: f32,
    /// The fraction of rows whose ratio is outside `1 +- clip_coef`.
    pub(super) clipfrac: f32,
}

impl PolicyChange {
    /// Computes the change from one or more log-ratios.
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

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;

    fn tensor<const N: usize>(values: [f32; N]) -> Tensor<1> {
        Tensor::from_floats(values, &Device::flex().autodiff())
    }

    fn scalar(tensor: Tensor<1>) -> f32 {
        tensor.into_scalar()
    }

    /// Returns the gradient of `loss` with respect to its argument at `at`.
    fn gradient<const N: usize>(at: [f32; N], loss: impl Fn(Tensor<1>) -> Tensor<1>) -> Vec<f32> {
        let at = tensor(at).require_grad();
        let gradients = loss(at.clone()).backward();
        at.grad(&gradients).unwrap().try_into_vec_as().unwrap()
    }

    fn close(values: &[f32], expected: &[f32]) {
        let near = |(value, expected): (&f32, &f32)| (value - expected).abs() < 1e-6;
        assert!(values.len() == expected.len() && values.iter().zip(expected).all(near), "{values:?}");
    }

    #[test]
    fn policy_loss_by_hand() {
        // Ratios 2, 2, 0.5, 0.5, clipped to 0.9..1.1; the worse of the two counts:
        // A = 1:  max(-2, -1.1) = -1.1      A = -1: max(2, 1.1) = 2
        // A = 1:  max(-0.5, -0.9) = -0.5    A = -1: max(0.5, 0.9) = 0.9
        let ln2 = 2f32.ln();
        let log_ratio = tensor([ln2, ln2, -ln2, -ln2]);
        let advantages = tensor([1.0, -1.0, 1.0, -1.0]);
        let loss = scalar(policy_loss(log_ratio, advantages, 0.1));
        close(&[loss], &[(-1.1 + 2.0 - 0.5 + 0.9) / 4.0]);
    }

    #[test]
    fn the_policy_gradient_is_zero_where_the_ratio_is_clipped() {
        let ln2 = 2f32.ln();
        let advantages = || tensor([1.0, -1.0, 3.0, -5.0]);
        let loss = |log_ratio| policy_loss(log_ratio, advantages(), 0.1);
        // d/dx of -A * exp(x) / 4; the first is clipped.
        close(&gradient([ln2, ln2, 0.0, 0.0], loss), &[0.0, 2.0 / 4.0, -3.0 / 4.0, 5.0 / 4.0]);
    }

    #[test]
    fn value_loss_by_hand() {
        let loss = value_loss(value_errors(tensor([1.0, 2.0]), tensor([0.0, 5.0])));
        close(&[scalar(loss)], &[0.5 * (1.0 + 9.0) / 2.0]);
    }

    #[test]
    fn clipped_value_loss_by_hand() {
        // Old values 0, returns 1, clip 0.2:
        // new 0.5: max(0.25, (0.2 - 1)^2 = 0.64) = 0.64
        // new 0.1: max(0.81, 0.81) = 0.81
        // new -1:  max(4, (-0.2 - 1)^2 = 1.44) = 4
        let loss = |values| value_loss(clipped_value_errors(values, tensor([0.0; 3]), tensor([1.0; 3]), 0.2));
        close(&[scalar(loss(tensor([0.5, 0.1, -1.0])))], &[0.5 * (0.64 + 0.81 + 4.0) / 3.0]);
        // The first value moved too far in the right direction: no gradient. d/dv of 0.5 * (v - 1)^2 / 3
        // elsewhere.
        close(&gradient([0.5, 0.1, -1.0], loss), &[0.0, -0.9 / 3.0, -2.0 / 3.0]);
    }

    #[test]
    fn log_prob_selects_the_action_of_each_row() {
        let device = Device::flex();
        let log_probs = Tensor::<2>::from_floats([[-1.0, -2.0, -3.0], [-4.0, -5.0, -6.0]], &device);
        let actions = Tensor::<1, Int>::from_ints([2, 0], &device);
        let picked: Vec<f32> = log_prob(log_probs, actions).try_into_vec_as().unwrap();
        assert_eq!(picked, [-3.0, -4.0]);
    }

    #[test]
    fn policy_change_by_hand() {
        let ln2 = 2f32.ln();
        // Ratios 2 and 1: mean(-log) = -ln2 / 2; mean(ratio - 1 - log) = (1 - ln2) / 2; one of two is clipped.
        let change = PolicyChange::of(&[ln2, 0.0], 0.1);
        close(
            &[change.old_approx_kl, change.approx_kl, change.clipfrac],
            &[-ln2 / 2.0, (1.0 - ln2) / 2.0, 0.5],
        );
    }
}
