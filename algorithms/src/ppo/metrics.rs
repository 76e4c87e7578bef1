/// Metrics of an update, named as in `CleanRL`.
///
/// Losses, divergences and the gradient norm are those of the update's last minibatch, as in `CleanRL`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PpoMetrics {
    /// The clipped surrogate objective, negated.
    pub policy_loss: f32,
    /// Half the (clipped) squared error of the values.
    pub value_loss: f32,
    /// Mean entropy of the policy, in nats.
    pub entropy: f32,
    /// Kullback-Leibler divergence from the policy that acted to the new one, estimated as
    /// `mean(-log_ratio)`.
    pub old_approx_kl: f32,
    /// The same divergence, by the better estimate `mean(ratio - 1 - log_ratio)`.
    pub approx_kl: f32,
    /// The fraction of samples whose probability ratio was clipped, averaged over all minibatches.
    pub clipfrac: f32,
    /// The fraction of the returns' variance that the values explained before the update: 1 is perfect, 0 is
    /// as good as a constant, NaN if all returns are equal.
    pub explained_variance: f32,
    /// The learning rate of this update.
    pub learning_rate: f64,
    /// Norm of the gradient of all parameters together, before clipping.
    pub grad_norm: f32,
    /// Share of the rectified units that no row of a minibatch activated, in the layer with the largest
    /// share.
    pub dead_units: f32,
    /// The number of epochs; lower than configured if `target_kl` ended the update.
    pub epochs: usize,
    /// The number of transitions: the rollout's steps without those that only reset an environment.
    pub transitions: usize,
}

/// Computes `1 - variance(returns - values) / variance(returns)`.
pub(super) fn explained_variance(values: &[f32], returns: &[f32]) -> f32 {
    let variance = |at: &dyn Fn(usize) -> f64| {
        let count = values.len() as f64;
        let mean = (0..values.len()).map(at).sum::<f64>() / count;
        (0..values.len()).map(|index| (at(index) - mean).powi(2)).sum::<f64>() / count
    };
    let of_returns = variance(&|index| f64::from(returns[index]));
    let of_errors = variance(&|index| f64::from(returns[index]) - f64::from(values[index]));
    if of_returns == 0.0 {
        return f32::NAN;
    }
    (1.0 - of_errors / of_returns) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn explained_variance_by_hand() {
        let returns = [1.0, 2.0, 3.0, 4.0];
        assert_eq!(explained_variance(&returns, &returns), 1.0);
        assert_eq!(explained_variance(&[7.0; 4], &returns), 0.0);
        // Errors 0, 0, 0, 2: variance 0.75; the returns' variance is 1.25.
        assert!((explained_variance(&[1.0, 2.0, 3.0, 2.0], &returns) - 0.4).abs() < 1e-6);
        assert!(explained_variance(&[1.0, 2.0], &[3.0, 3.0]).is_nan());
    }
}
