//! Normal distributions of continuous actions: each component of an action is drawn by itself.

use std::f32::consts::PI;

use burn::tensor::{Device, Tensor};
use rand::Rng;

use super::row_actions::Terms;
use crate::Task;
use crate::host::floats;
use crate::networks::standard_normal;
use crate::vector_spec::max_outputs;

/// Returns half the logarithm of `2 pi`.
fn half_ln_two_pi() -> f32 {
    (2.0 * PI).ln() / 2.0
}

/// The distribution of the action of a row, on the host.
#[derive(Clone, Debug)]
pub(super) struct GaussianPolicy {
    /// For each component its mean.
    means: Vec<f32>,
    /// For each component the logarithm of its deviation.
    log_deviations: Vec<f32>,
}

impl GaussianPolicy {
    pub(super) fn new(means: &[f32], log_deviations: &[f32]) -> Self {
        Self { means: means.to_vec(), log_deviations: log_deviations.to_vec() }
    }

    /// Samples an action. Returns its components and its log-density. Draws two random numbers for each component.
    pub(super) fn sample(&self, rng: &mut impl Rng) -> (Vec<f32>, f32) {
        let mut log_prob = 0.0;
        let component = |(&mean, &log_deviation): (&f32, &f32)| {
            let noise = standard_normal(rng) as f32;
            log_prob -= noise * noise / 2.0 + log_deviation + half_ln_two_pi();
            mean + log_deviation.exp() * noise
        };
        let components = self.means.iter().zip(&self.log_deviations).map(component).collect();
        (components, log_prob)
    }

    /// Returns the components of the most probable action.
    pub(super) fn greedy(&self) -> Vec<f32> {
        self.means.clone()
    }
}

/// The continuous actions of the rows of a minibatch. The tensors are padded to the largest number of components of any task.
#[derive(Clone, Debug)]
pub(super) struct Components {
    /// `[rows, components]`.
    values: Tensor<2>,
    /// `[rows, components]`: 1 for the components of the row's task.
    own: Tensor<2>,
}

impl Components {
    /// Creates the actions of some rows, each with its task and its components, padded to the largest number of any task.
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

    /// Computes the terms of the actions under policies with these means and logarithms of deviations, `[rows, components]`.
    pub(super) fn terms(self, means: Tensor<2>, log_deviations: Tensor<2>) -> Terms {
        let sum =
            |of_components: Tensor<2>| (of_components * self.own.clone()).sum_dim(1).squeeze_dim::<1>(1);
        let noise = (self.values - means) * log_deviations.clone().neg().exp();
        let log_probs = noise.square().div_scalar(-2.0) - log_deviations.clone().add_scalar(half_ln_two_pi());
        Terms { log_probs: sum(log_probs), entropies: sum(log_deviations.add_scalar(half_ln_two_pi() + 0.5)) }
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

    /// The log-density of a normal distribution by its definition.
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
        let terms = components.terms(means, log_deviations);
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
        let terms = components.terms(means.clone(), log_deviations.clone());
        let gradients = terms.log_probs.sum().backward();
        let host = |tensor: Option<Tensor<2>>| -> Vec<f32> { tensor.unwrap().try_into_vec_as().unwrap() };
        // Of the mean (a - m) / s^2, of the logarithm ((a - m) / s)^2 - 1; the second component belongs to another task.
        for (gradient, expected) in [(means.grad(&gradients), 0.25), (log_deviations.grad(&gradients), -0.75)]
        {
            let gradient = host(gradient);
            assert!((gradient[0] - expected).abs() < 1e-6 && gradient[1] == 0.0, "{gradient:?}");
        }
    }

    #[test]
    fn samples_have_the_mean_and_the_deviation_and_their_log_density() {
        let policy = GaussianPolicy::new(&[2.0, -1.0], &[0.5f32.ln(), 3f32.ln()]);
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
}
