//! Normal distributions of continuous actions: each component of an action is drawn independently.
//!
//! Squashed actions are the tanh of such values, from -1 to 1. Rollouts store the values before tanh, because they
//! cannot be recovered where tanh rounds to 1.

use std::f32::consts::PI;

use burn::tensor::{Device, Tensor};
use kernels::host::floats;
use rand::Rng;

use super::loss::Terms;
use crate::Task;
use crate::networks::standard_normal;
use crate::tasks::squashing::{log_slope, log_slopes};
use crate::tasks::task::max_outputs;

/// Returns half the logarithm of `2 pi`.
fn half_ln_two_pi() -> f32 {
    (2.0 * PI).ln() / 2.0
}

/// The distribution of the action of a row, on the host.
#[derive(Clone, Debug)]
pub(super) struct GaussianPolicy {
    /// The mean of each component.
    means: Vec<f32>,
    /// The logarithm of the standard deviation of each component.
    log_deviations: Vec<f32>,
    squashes: bool,
}

impl GaussianPolicy {
    pub(super) fn new(means: &[f32], log_deviations: &[f32], squashes: bool) -> Self {
        Self { means: means.to_vec(), log_deviations: log_deviations.to_vec(), squashes }
    }

    /// Returns true if components are to be squashed by tanh.
    pub(super) fn squashes(&self) -> bool {
        self.squashes
    }

    /// Samples an action. Returns its components before they are squashed, and its log-density. Draws two random
    /// numbers for each component.
    pub(super) fn sample(&self, rng: &mut impl Rng) -> (Vec<f32>, f32) {
        let mut log_prob = 0.0;
        let component = |(&mean, &log_deviation): (&f32, &f32)| {
            let noise = standard_normal(rng) as f32;
            log_prob -= noise * noise / 2.0 + log_deviation + half_ln_two_pi();
            let component = mean + log_deviation.exp() * noise;
            if self.squashes {
                log_prob -= log_slope(component);
            }
            component
        };
        let components = self.means.iter().zip(&self.log_deviations).map(component).collect();
        (components, log_prob)
    }

    /// Returns the components of the most probable action, or of the median of a squashed distribution before it is
    /// squashed.
    pub(super) fn greedy(&self) -> Vec<f32> {
        self.means.clone()
    }
}

/// The continuous actions of the rows of a minibatch, before they are squashed. The tensors are padded to the largest
/// number of components of any task.
#[derive(Clone, Debug)]
pub(super) struct Components {
    /// `[rows, components]`.
    values: Tensor<2>,
    /// `[rows, components]`: 1 for the components of the row's task.
    own: Tensor<2>,
}

impl Components {
    /// Creates the actions of some rows, each with its task and its components, padded to the largest number of any
    /// task.
    pub(super) fn new<'a>(
        actions: impl Iterator<Item = (usize, &'a [f32])>,
        tasks: &[Task],
        device: &Device,
    ) -> Self {
        let width = max_outputs(tasks);
        let (mut values, mut own) = (Vec::new(), Vec::new());
        for (task, components) in actions {
            let count = tasks[task].actions.num_components();
            values.extend_from_slice(components);
            own.extend((0..width).map(|index| f32::from(index < count)));
        }
        let shape = [own.len() / width, width];
        let tensor = |values| floats(values, shape, device);
        Self { values: tensor(values), own: tensor(own) }
    }

    /// Computes the terms of the actions under policies with these means and logarithms of standard deviations,
    /// `[rows, components]`.
    ///
    /// Squashing adds the mean logarithm of the slope of tanh to the entropy, for which there is no closed form. It is
    /// estimated by the slope at the row's action. The gradient is that of an action `mean + deviation * noise` with
    /// constant noise, so it is unbiased as long as the policy is the one that acted.
    pub(super) fn terms(self, means: Tensor<2>, log_deviations: Tensor<2>, squashes: bool) -> Terms {
        let noise = (self.values.clone() - means.clone()) * log_deviations.clone().neg().exp();
        let mut log_probs =
            noise.clone().square().div_scalar(-2.0) - log_deviations.clone().add_scalar(half_ln_two_pi());
        let mut entropies = log_deviations.clone().add_scalar(half_ln_two_pi() + 0.5);
        if squashes {
            log_probs = log_probs - log_slopes(self.values);
            entropies = entropies + log_slopes(means + log_deviations.exp() * noise.detach());
        }
        let sum =
            |of_components: Tensor<2>| (of_components * self.own.clone()).sum_dim(1).squeeze_dim::<1>(1);
        Terms { log_probs: sum(log_probs), entropies: sum(entropies) }
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;
    use rl_env::Space;

    use super::*;
    use crate::ContinuousActions;

    fn task(components: usize) -> Task {
        let actions = ContinuousActions::of_space(&Space::floats(components, -1.0, 1.0)).unwrap();
        Task::of_actions(components.to_string(), actions)
    }

    /// Returns the log-density of a normal distribution by its definition.
    fn log_density(value: f64, mean: f64, log_deviation: f64) -> f64 {
        let deviation = log_deviation.exp();
        let density = (-((value - mean) / deviation).powi(2) / 2.0).exp()
            / (deviation * (2.0 * std::f64::consts::PI).sqrt());
        density.ln()
    }

    fn host(tensor: Tensor<1>) -> Vec<f32> {
        tensor.try_into_vec_as().unwrap()
    }

    #[test]
    fn terms_are_sums_over_the_components_of_a_task() {
        let device = Device::flex();
        let actions: [(usize, &[f32]); 2] = [(1, &[0.5, -2.0]), (0, &[3.0, 0.0])];
        let components = Components::new(actions.into_iter(), &[task(1), task(2)], &device);
        let means = Tensor::from_floats([[0.0, 1.0], [2.5, 100.0]], &device);
        let log_deviations = Tensor::from_floats([[0.0, 0.7], [-0.3, 50.0]], &device);
        let terms = components.terms(means, log_deviations, false);
        let expected =
            [log_density(0.5, 0.0, 0.0) + log_density(-2.0, 1.0, 0.7), log_density(3.0, 2.5, -0.3)];
        for (log_prob, expected) in host(terms.log_probs).into_iter().zip(expected) {
            assert!((f64::from(log_prob) - expected).abs() < 1e-5, "{log_prob} {expected}");
        }
        // The entropy of a normal distribution is ln(deviation * sqrt(2 pi e)).
        let entropy =
            |log_deviation: f64| log_deviation + (2.0 * std::f64::consts::PI * 1f64.exp()).ln() / 2.0;
        for (entropy, expected) in
            host(terms.entropies).into_iter().zip([entropy(0.0) + entropy(0.7), entropy(-0.3)])
        {
            assert!((f64::from(entropy) - expected).abs() < 1e-5, "{entropy} {expected}");
        }
    }

    #[test]
    fn gradients_by_hand() {
        let device = Device::flex().autodiff();
        let actions: [(usize, &[f32]); 1] = [(0, &[2.0, 0.0])];
        let components = Components::new(actions.into_iter(), &[task(1), task(2)], &device);
        let means = Tensor::<2>::from_floats([[1.0, 5.0]], &device).require_grad();
        let log_deviations = Tensor::<2>::from_floats([[2f32.ln(), 5.0]], &device).require_grad();
        let terms = components.terms(means.clone(), log_deviations.clone(), false);
        let gradients = terms.log_probs.sum().backward();
        let host = |tensor: Option<Tensor<2>>| -> Vec<f32> { tensor.unwrap().try_into_vec_as().unwrap() };
        // The gradient of the mean is (a - m) / s^2, that of the logarithm ((a - m) / s)^2 - 1. The second component
        // belongs to another task.
        for (gradient, expected) in [(means.grad(&gradients), 0.25), (log_deviations.grad(&gradients), -0.75)]
        {
            let gradient = host(gradient);
            assert!((gradient[0] - expected).abs() < 1e-6 && gradient[1] == 0.0, "{gradient:?}");
        }
    }

    #[test]
    fn samples_have_the_mean_and_the_deviation_and_their_log_density() {
        let policy = GaussianPolicy::new(&[2.0, -1.0], &[0.5f32.ln(), 3f32.ln()], false);
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let samples: Vec<Vec<f32>> = (0..20_000)
            .map(|_| {
                let (sample, log_prob) = policy.sample(&mut rng);
                let [first, second] = [0, 1].map(|index| f64::from(sample[index]));
                let expected = log_density(first, 2.0, 0.5f64.ln()) + log_density(second, -1.0, 3f64.ln());
                assert!((f64::from(log_prob) - expected).abs() < 1e-4, "{log_prob} {expected}");
                sample
            })
            .collect();
        for (index, (mean, deviation)) in [(2.0, 0.5), (-1.0, 3.0)].into_iter().enumerate() {
            let column = || samples.iter().map(|sample| f64::from(sample[index]));
            let count = samples.len() as f64;
            let of_samples = column().sum::<f64>() / count;
            let variance = column().map(|value| (value - of_samples).powi(2)).sum::<f64>() / count;
            // Five standard errors.
            assert!((of_samples - mean).abs() < 5.0 * deviation / count.sqrt(), "{of_samples}");
            assert!((variance.sqrt() / deviation - 1.0).abs() < 5.0 / (2.0 * count).sqrt(), "{variance}");
        }
        assert_eq!(policy.greedy(), [2.0, -1.0]);
    }

    #[test]
    fn squashed_terms_by_hand() {
        let device = Device::flex().autodiff();
        // tanh(ln(3) / 2) is 1/2, where the slope is 3/4. The second component belongs to another task.
        let value = 3f32.ln() / 2.0;
        let components = Components::new([(0, &[value, 9.0][..])].into_iter(), &[task(1), task(2)], &device);
        let means = Tensor::<2>::from_floats([[value - 1.0, 5.0]], &device).require_grad();
        let log_deviations = Tensor::<2>::from_floats([[2f32.ln(), 5.0]], &device).require_grad();
        let Terms { log_probs, entropies } = components.terms(means.clone(), log_deviations.clone(), true);
        let log_prob = log_density(1.0, 0.0, 2f64.ln()) - 0.75f64.ln();
        let entropy = 2f64.ln() + (2.0 * std::f64::consts::PI * 1f64.exp()).ln() / 2.0 + 0.75f64.ln();
        for (term, expected) in [(&log_probs, log_prob), (&entropies, entropy)] {
            let value = f64::from(host(term.clone())[0]);
            assert!((value - expected).abs() < 1e-6, "{value} {expected}");
        }
        // d ln(1 - tanh(u)^2) / du is -2 tanh(u) = -1. The mean moves u by 1, the logarithm of the deviation by
        // deviation times noise = 1; it also adds 1 to the entropy of the normal distribution.
        let gradients = entropies.sum().backward();
        let host = |tensor: Option<Tensor<2>>| -> Vec<f32> { tensor.unwrap().try_into_vec_as().unwrap() };
        for (gradient, expected) in [(means.grad(&gradients), -1.0), (log_deviations.grad(&gradients), 0.0)] {
            let gradient = host(gradient);
            assert!((gradient[0] - expected).abs() < 1e-6 && gradient[1] == 0.0, "{gradient:?}");
        }
    }

    #[test]
    fn squashed_samples_have_the_density_of_the_change_of_variables() {
        let policy = GaussianPolicy::new(&[2.0, -1.0], &[0.5f32.ln(), 3f32.ln()], true);
        assert!(policy.squashes());
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for _ in 0..1_000 {
            let (sample, log_prob) = policy.sample(&mut rng);
            let [first, second] = [0, 1].map(|index| f64::from(sample[index]));
            let normal = log_density(first, 2.0, 0.5f64.ln()) + log_density(second, -1.0, 3f64.ln());
            let expected = normal + 2.0 * (first.cosh().ln() + second.cosh().ln());
            assert!((f64::from(log_prob) - expected).abs() < 1e-4, "{log_prob} {expected}");
        }
    }
}
