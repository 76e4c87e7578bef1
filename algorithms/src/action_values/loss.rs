//! Losses of action values and of return distributions, one for each row of a minibatch.

use burn::tensor::Tensor;
use serde::{Deserialize, Serialize};
use settings::choices;

choices! {
    /// The loss of TD errors for networks that predict mean returns, not distributions.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub enum LossKind {
        /// The squared error.
        #[default]
        Mse = "mse",
        /// Half the squared error up to 1 and linear beyond, which corresponds to the error clipping of Mnih et al.
        /// 2015.
        Huber = "huber",
    }
}

/// Computes `x^2 / 2` for errors `x` in -1..=1 and `|x| - 1/2` outside, element by element.
pub(crate) fn huber<const D: usize>(errors: Tensor<D>) -> Tensor<D> {
    let size = errors.abs();
    let quadratic = size.clone().clamp_max(1.0);
    let linear = size - quadratic.clone();
    quadratic.square().mul_scalar(0.5) + linear
}

/// Computes the cross-entropy of log-probabilities `log q` and target probabilities `p`, both
/// `[rows, atoms]`: `-sum over i of p_i * log q_i`.
pub(crate) fn cross_entropy(log_probs: Tensor<2>, targets: Tensor<2>) -> Tensor<1> {
    (log_probs * targets).sum_dim(1).neg().squeeze_dim(1)
}

/// Computes the quantile Huber loss with kappa 1 (equation 10 of Dabney et al. 2018). `theta` holds
/// `[rows, n]` quantiles at `levels` `[1, n]`, `targets` holds `[rows, m]` samples of the distribution.
///
/// ```text
/// sum over i of mean over j of |tau_i - 1{u_ij < 0}| * huber(u_ij),  u_ij = target_j - theta_i
/// ```
pub(crate) fn quantile_huber(theta: Tensor<2>, targets: Tensor<2>, levels: Tensor<2>) -> Tensor<1> {
    let errors = targets.unsqueeze_dim::<3>(1) - theta.unsqueeze_dim::<3>(2);
    let below = errors.clone().detach().lower_elem(0.0).float();
    let weights = (levels.unsqueeze_dim::<3>(2) - below).abs();
    (weights * huber(errors)).mean_dim(2).sum_dim(1).squeeze_dim::<2>(2).squeeze_dim(1)
}

/// Computes the mean of the rows' losses times their weights.
pub(crate) fn weighted_mean(losses: Tensor<1>, weights: Tensor<1>) -> Tensor<1> {
    (losses * weights).mean()
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;

    fn row<const N: usize>(values: [f32; N]) -> Tensor<2> {
        Tensor::from_floats([values], &Device::flex().autodiff())
    }

    fn close(tensor: Tensor<1>, expected: &[f32]) {
        let values: Vec<f32> = tensor.try_into_vec_as().unwrap();
        let near = |(value, expected): (&f32, &f32)| (value - expected).abs() < 1e-6;
        assert!(values.len() == expected.len() && values.iter().zip(expected).all(near), "{values:?}");
    }

    #[test]
    fn huber_by_hand() {
        let errors = Tensor::<1>::from_floats([0.0, 0.5, -1.0, 3.0, -3.0], &Device::flex().autodiff());
        let errors = errors.require_grad();
        let losses = huber(errors.clone());
        close(losses.clone(), &[0.0, 0.125, 0.5, 2.5, 2.5]);
        // The gradient is the error, clipped to -1..=1.
        let gradients = losses.sum().backward();
        let gradient = errors.grad(&gradients).unwrap();
        let values: Vec<f32> = gradient.try_into_vec_as().unwrap();
        assert_eq!([values[1], values[3], values[4]], [0.5, 1.0, -1.0]);
    }

    #[test]
    fn cross_entropy_by_hand() {
        let log_probs = row([0.25f32.ln(), 0.75f32.ln()]);
        close(cross_entropy(log_probs, row([0.5, 0.5])), &[-0.5 * (0.25f32.ln() + 0.75f32.ln())]);
    }

    #[test]
    fn quantile_huber_by_hand() {
        // Quantiles 0 and 1 at 1/4 and 3/4, targets 0.5 and 3.
        // i = 0: u = 0.5 and 3, huber 0.125 and 2.5, weights 1/4: mean 0.328125
        // i = 1: u = -0.5 and 2, huber 0.125 and 1.5, weights 1/4 and 3/4: mean (0.03125 + 1.125) / 2 = 0.578125
        let theta = row([0.0, 1.0]).require_grad();
        let loss = quantile_huber(theta.clone(), row([0.5, 3.0]), row([0.25, 0.75]));
        close(loss.clone(), &[0.90625]);
        // -weight * clipped error, mean over targets: -(0.25 * 0.5 + 0.25 * 1) / 2, -(0.25 * -0.5 + 0.75 * 1) / 2.
        let gradients = loss.backward();
        close(theta.grad(&gradients).unwrap().squeeze_dim(0), &[-0.1875, -0.3125]);
    }

    #[test]
    fn weighted_mean_by_hand() {
        let tensor = |values: [f32; 2]| Tensor::<1>::from_floats(values, &Device::flex());
        close(weighted_mean(tensor([2.0, 4.0]), tensor([1.0, 0.25])), &[1.5]);
    }
}
