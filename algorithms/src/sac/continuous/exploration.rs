use rand::Rng;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::networks::standard_normal;

/// The noise of the actions of each environment, which may last for several steps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Exploration {
    width: usize,
    /// The last noise of each environment's components.
    noise: Vec<f32>,
    /// The last random action of each environment.
    random: Vec<f32>,
}

impl Exploration {
    /// Creates the noise of `num_envs` environments with actions of up to `width` components.
    pub(in crate::sac) fn new(num_envs: usize, width: usize, rng: &mut ChaCha8Rng) -> Self {
        let count = num_envs * width;
        Self {
            width,
            noise: (0..count).map(|_| standard_normal(rng) as f32).collect(),
            random: (0..count).map(|_| rng.random_range(-1.0..=1.0)).collect(),
        }
    }

    /// Returns the next noise of an environment. Each component has the standard normal distribution and the given
    /// correlation with the last noise: an autoregressive process, which is an Ornstein-Uhlenbeck process in discrete
    /// steps.
    pub(in crate::sac) fn noise(&mut self, env: usize, correlation: f32, rng: &mut ChaCha8Rng) -> &[f32] {
        let own = &mut self.noise[env * self.width..][..self.width];
        let share = (1.0 - f64::from(correlation).powi(2)).sqrt();
        for noise in own.iter_mut() {
            *noise = (f64::from(correlation) * f64::from(*noise) + share * standard_normal(rng)) as f32;
        }
        own
    }

    /// Returns the next random action of an environment, uniform in -1..=1. With probability `repetition` it repeats
    /// the last one.
    pub(in crate::sac) fn random(&mut self, env: usize, repetition: f32, rng: &mut ChaCha8Rng) -> &[f32] {
        let own = &mut self.random[env * self.width..][..self.width];
        let repeats = rng.random::<f32>() < repetition;
        for component in own.iter_mut().filter(|_| !repeats) {
            *component = rng.random_range(-1.0..=1.0);
        }
        own
    }

    /// Returns true if `other` is for the same environments. Returns false for a damaged state.
    pub(in crate::sac) fn fits(&self, other: &Self) -> bool {
        self.width == other.width
            && [&self.noise, &self.random].iter().all(|values| values.len() == other.noise.len())
            && self.noise.iter().all(|noise| noise.is_finite())
            && self.random.iter().all(|component| (-1.0..=1.0).contains(component))
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    /// Returns the mean, the mean square, and the mean product of successive values.
    fn moments(values: &[f32]) -> [f64; 3] {
        let mean = |values: &mut dyn Iterator<Item = f64>, count: usize| values.sum::<f64>() / count as f64;
        let float = |value: &f32| f64::from(*value);
        [
            mean(&mut values.iter().map(float), values.len()),
            mean(&mut values.iter().map(|value| float(value).powi(2)), values.len()),
            mean(&mut values.windows(2).map(|pair| float(&pair[0]) * float(&pair[1])), values.len() - 1),
        ]
    }

    #[test]
    fn correlated_noise_keeps_its_distribution() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut exploration = Exploration::new(2, 1, &mut rng);
        for correlation in [0.0, 0.5, 0.9] {
            let noise: Vec<f32> =
                (0..100_000).map(|_| exploration.noise(1, correlation, &mut rng)[0]).collect();
            let [mean, square, product] = moments(&noise);
            assert!(mean.abs() < 0.06 && (square - 1.0).abs() < 0.06, "{mean} {square}");
            assert!((product - f64::from(correlation)).abs() < 0.06, "{product}");
            // 68.3 % lie within one standard deviation.
            let within = noise.iter().filter(|noise| noise.abs() < 1.0).count() as f64 / noise.len() as f64;
            assert!((within - 0.683).abs() < 0.02, "{within}");
        }
    }

    #[test]
    fn random_actions_are_uniform_and_repeated() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut exploration = Exploration::new(1, 2, &mut rng);
        for repetition in [0.0, 0.8] {
            let actions: Vec<Vec<f32>> =
                (0..50_000).map(|_| exploration.random(0, repetition, &mut rng).to_vec()).collect();
            let repeated = actions.windows(2).filter(|pair| pair[0] == pair[1]).count() as f64;
            assert!((repeated / 50_000.0 - f64::from(repetition)).abs() < 0.01, "{repeated}");
            let column: Vec<f32> = actions.iter().map(|action| action[1]).collect();
            let [mean, square, _] = moments(&column);
            assert!(mean.abs() < 0.03 && (square - 1.0 / 3.0).abs() < 0.02, "{mean} {square}");
        }
    }
}
