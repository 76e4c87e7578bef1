//! Normal distributions squashed by tanh: the distributions of actions within -1..1 (Haarnoja et al. 2018, appendix C).

use std::f64::consts::PI;

use burn::tensor::Tensor;

use crate::networks::{RowTasks, SquashedOutputs};
use crate::tasks::squashing::log_slopes;

/// Actions of the rows of a minibatch with their log-densities.
pub(super) struct Sample {
    /// `[rows, components]`, from -1 to 1; 0 for components that a row's task lacks.
    pub(super) actions: Tensor<2>,
    /// `[rows]`.
    pub(super) log_probs: Tensor<1>,
}

/// Samples actions with `noise` of the standard normal distribution, `[rows, components]`.
pub(super) fn sample(outputs: SquashedOutputs, noise: Tensor<2>, rows: &RowTasks) -> Sample {
    let SquashedOutputs { means, log_deviations } = outputs;
    let own = rows.illegal().bool_not().float();
    let half_ln_two_pi = (2.0 * PI).ln() / 2.0;
    let unsquashed = means + log_deviations.clone().exp() * noise.clone();
    let densities = noise.square().div_scalar(-2.0) - log_deviations.add_scalar(half_ln_two_pi);
    let log_probs = ((densities - log_slopes(unsquashed.clone())) * own.clone()).sum_dim(1).squeeze_dim(1);
    Sample { actions: unsquashed.tanh() * own, log_probs }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::LN_2;

    use burn::tensor::Device;
    use rl_env::Space;

    use super::*;
    use crate::{ContinuousActions, Task};

    fn tasks() -> [Task; 2] {
        [1, 2].map(|components| {
            let actions = ContinuousActions::of_space(&Space::floats(components, -1.0, 1.0)).unwrap();
            Task::of_actions(components.to_string(), actions)
        })
    }

    fn host<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
        tensor.try_into_vec_as().unwrap()
    }

    /// Samples one row of the second task.
    fn sample_of(means: [f32; 2], log_deviations: [f32; 2], noise: [f32; 2]) -> (Vec<f32>, f32) {
        let device = Device::flex();
        let [means, log_deviations, noise] =
            [means, log_deviations, noise].map(|row| Tensor::<2>::from_floats([row], &device));
        let rows = RowTasks::new([1].into_iter(), &tasks(), &device);
        let Sample { actions, log_probs } = sample(SquashedOutputs { means, log_deviations }, noise, &rows);
        (host(actions), host(log_probs)[0])
    }

    /// Returns the density of `tanh(u)` by the change of variables, for one component.
    fn log_density(mean: f64, deviation: f64, unsquashed: f64) -> f64 {
        let normal =
            (-((unsquashed - mean) / deviation).powi(2) / 2.0).exp() / (deviation * (2.0 * PI).sqrt());
        (normal / (1.0 - unsquashed.tanh().powi(2))).ln()
    }

    #[test]
    fn log_densities_are_those_of_the_closed_form() {
        let (means, noise) = ([0.3, -0.7], [0.5, -1.2]);
        let (actions, log_prob) = sample_of(means, [-1.0, 0.4], noise);
        let mut expected = 0.0;
        for index in 0..2 {
            let deviation = [-1f64, 0.4][index].exp();
            let unsquashed = f64::from(means[index]) + deviation * f64::from(noise[index]);
            assert!((f64::from(actions[index]) - unsquashed.tanh()).abs() < 1e-6);
            expected += log_density(f64::from(means[index]), deviation, unsquashed);
        }
        assert!((f64::from(log_prob) - expected).abs() < 1e-5, "{log_prob} {expected}");
        // By hand: u = 0, the standard normal density 1 / sqrt(2 pi), slope 1.
        let (_, log_prob) = sample_of([0.0; 2], [0.0; 2], [0.0; 2]);
        assert!((log_prob + 1.837_877).abs() < 1e-6, "{log_prob}");
    }

    #[test]
    fn densities_integrate_to_1() {
        // Midpoints of the actions between -1 and 1, with the noise that leads to them.
        let (mean, log_deviation, count) = (0.4f32, -0.3f32, 2000);
        let sum: f64 = (0..count)
            .map(|index| {
                let action = (f64::from(index) + 0.5) / f64::from(count) * 2.0 - 1.0;
                let noise = (action.atanh() as f32 - mean) / log_deviation.exp();
                let (_, both) = sample_of([mean; 2], [log_deviation; 2], [noise; 2]);
                (f64::from(both) / 2.0).exp() * 2.0 / f64::from(count)
            })
            .sum();
        assert!((sum - 1.0).abs() < 1e-3, "{sum}");
    }

    #[test]
    fn densities_are_finite_where_tanh_rounds_to_1() {
        for mean in [-80.0f32, -20.0, 20.0, 80.0] {
            let (actions, log_prob) = sample_of([mean; 2], [-5.0; 2], [1.0; 2]);
            assert_eq!(actions, [mean.signum(); 2]);
            // 1 - tanh(u)^2 is about 4 exp(-2 |u|).
            let unsquashed = f64::from(mean) + (-5f64).exp();
            let normal = -0.5 + 5.0 - (2.0 * PI).ln() / 2.0;
            let expected = 2.0 * (normal - 2.0 * LN_2 + 2.0 * unsquashed.abs());
            assert!((f64::from(log_prob) - expected).abs() < 1e-4 * expected, "{log_prob} {expected}");
        }
    }

    #[test]
    fn components_of_other_tasks_do_not_count() {
        let device = Device::flex();
        let rows = RowTasks::new([0, 1].into_iter(), &tasks(), &device);
        let row = |value: f32| Tensor::<2>::from_floats([[0.2, value], [0.2, value]], &device);
        let outputs = SquashedOutputs { means: row(3.0), log_deviations: row(1.0) };
        let Sample { actions, log_probs } = sample(outputs, row(-2.0), &rows);
        let (actions, log_probs) = (host(actions), host(log_probs));
        assert_eq!((actions[0], actions[1]), (actions[2], 0.0));
        let deviation = 0.2f64.exp();
        let expected = log_density(0.2, deviation, 0.2 + 0.2 * deviation);
        assert!((f64::from(log_probs[0]) - expected).abs() < 1e-5, "{log_probs:?} {expected}");
    }

    #[test]
    fn gradients_equal_finite_differences() {
        let device = Device::flex().autodiff();
        let (means, log_deviations, noise) = ([0.3f32, -1.5], [-0.4f32, 0.6], [0.8f32, -0.3]);
        // A function of both results: of the actions with different weights, and of the log-density.
        let (weights, factor) = ([1.5f32, -0.5], 0.7);
        let function = |means: [f64; 2], log_deviations: [f64; 2]| -> f64 {
            let component = |index: usize| {
                let deviation = log_deviations[index].exp();
                let unsquashed = means[index] + deviation * f64::from(noise[index]);
                f64::from(weights[index]) * unsquashed.tanh()
                    + factor * log_density(means[index], deviation, unsquashed)
            };
            component(0) + component(1)
        };
        let tensor = |values: [f32; 2]| Tensor::<2>::from_floats([values], &device);
        let (mean_leaf, deviation_leaf) =
            (tensor(means).require_grad(), tensor(log_deviations).require_grad());
        let rows = RowTasks::new([1].into_iter(), &tasks(), &device);
        let outputs = SquashedOutputs { means: mean_leaf.clone(), log_deviations: deviation_leaf.clone() };
        let Sample { actions, log_probs } = sample(outputs, tensor(noise), &rows);
        let loss = (actions * tensor(weights)).sum() + log_probs.mul_scalar(factor).sum();
        let gradients = loss.backward();
        let of_means = host(mean_leaf.grad(&gradients).unwrap());
        let of_deviations = host(deviation_leaf.grad(&gradients).unwrap());
        let [means, log_deviations] = [means, log_deviations].map(|values| values.map(f64::from));
        for index in 0..2 {
            let shifted = |values: [f64; 2], by: f64| {
                let mut values = values;
                values[index] += by;
                values
            };
            let step = 1e-5;
            let slope = |function: &dyn Fn(f64) -> f64| (function(step) - function(-step)) / (2.0 * step);
            let by_mean = slope(&|by| function(shifted(means, by), log_deviations));
            let by_deviation = slope(&|by| function(means, shifted(log_deviations, by)));
            assert!((f64::from(of_means[index]) - by_mean).abs() < 1e-4, "{of_means:?} {by_mean}");
            assert!((f64::from(of_deviations[index]) - by_deviation).abs() < 1e-4, "{of_deviations:?}");
        }
    }
}
