//! Sampling on the device, so that the host reads one option per row instead of all logits.

use burn::tensor::activation::log_softmax;
use burn::tensor::{Bool, Tensor};

/// The largest `f32` below 1.
const BELOW_ONE: f64 = 1.0 - f64::EPSILON * (1_u64 << 28) as f64;

/// Converts a uniform random number below 1 to 32 bits, so that it remains below 1.
pub(super) fn threshold(uniform: f64) -> f32 {
    uniform.min(BELOW_ONE) as f32
}

/// Samples an option for each row of `logits`, `[rows, options]`, in which `illegal` options are masked. Returns
/// `[rows, 3]`: the option, its log-probability, and the sum of the legal logits, which is finite if all of them are.
///
/// Like [`categorical::sample`](crate::tasks::categorical::sample), this chooses the first option whose cumulative
/// probability exceeds the uniform random number of the row, but in 32 bits instead of 64. `thresholds`, `[rows, 1]`,
/// are the random numbers. An option of probability 0 is never chosen.
pub(super) fn sample(logits: Tensor<2>, illegal: Tensor<2, Bool>, thresholds: Tensor<2>) -> Tensor<2> {
    let [_, options] = logits.dims();
    let sums = logits.clone().mask_fill(illegal, 0.0).sum_dim(1);
    let log_probs = log_softmax(logits, 1);
    let cumulative = log_probs.clone().exp().cumsum(1);
    let total = cumulative.clone().narrow(1, options - 1, 1);
    let count = |are_below: Tensor<2, Bool>| are_below.int().sum_dim(1);
    // The product may round up to the total. In that case, the last option with a positive probability is chosen.
    let chosen = count(cumulative.clone().lower_equal(thresholds * total.clone()))
        .min_pair(count(cumulative.lower(total)));
    Tensor::cat(vec![chosen.clone().float(), log_probs.gather(1, chosen), sums], 1)
}

#[cfg(test)]
mod tests {
    use burn::tensor::{Device, TensorData};
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::networks::{illegal_actions, mask_logits};
    use crate::tasks::categorical;

    const OPTIONS: usize = 18;

    fn sampled(logits: &[f32], legal: &[usize], thresholds: Vec<f32>) -> Vec<f32> {
        let (device, rows) = (Device::flex(), legal.len());
        let logits: Tensor<2> = Tensor::from_data(TensorData::new(logits.to_vec(), [rows, OPTIONS]), &device);
        let illegal = illegal_actions(legal, OPTIONS, &device);
        let thresholds = Tensor::from_data(TensorData::new(thresholds, [rows, 1]), &device);
        sample(mask_logits(logits, illegal.clone()), illegal, thresholds).try_into_vec_as().unwrap()
    }

    #[test]
    fn samples_are_those_of_the_host_for_the_same_random_numbers() {
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let legal: Vec<usize> = (0..2000).map(|_| rng.random_range(1..=OPTIONS)).collect();
        let logits: Vec<f32> = (0..legal.len() * OPTIONS).map(|_| rng.random_range(-5.0..5.0)).collect();
        let (mut host, mut device) = (rng.clone(), rng);
        let thresholds = legal.iter().map(|_| threshold(device.random())).collect();
        let samples = sampled(&logits, &legal, thresholds);
        for ((logits, &legal), samples) in logits.chunks(OPTIONS).zip(&legal).zip(samples.chunks(3)) {
            let mut log_probs = logits[..legal].to_vec();
            categorical::log_softmax(&mut log_probs);
            let option = categorical::sample(&log_probs, &mut host);
            assert_eq!(samples[0], option as f32);
            assert!((samples[1] - log_probs[option]).abs() < 1e-5, "{} {}", samples[1], log_probs[option]);
            assert!((samples[2] - logits[..legal].iter().sum::<f32>()).abs() < 1e-4);
        }
    }

    #[test]
    fn the_largest_random_number_chooses_the_last_possible_option() {
        let mut logits = vec![0.0; 2 * OPTIONS];
        // The last two legal options of the second row have probability 0.
        logits[OPTIONS + 3..OPTIONS + 5].fill(-1e9);
        let samples = sampled(&logits, &[4, 5], vec![threshold(1.0 - f64::EPSILON / 2.0); 2]);
        assert_eq!((samples[0], samples[3]), (3.0, 2.0));
        assert_eq!((threshold(0.25), threshold(1.0)), (0.25, 1.0 - f32::EPSILON / 2.0));
        let samples = sampled(&logits, &[4, 5], vec![0.0; 2]);
        assert_eq!((samples[0], samples[3]), (0.0, 0.0));
    }

    #[test]
    fn a_non_finite_legal_logit_makes_the_sum_non_finite() {
        for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let mut logits = vec![0.5; 2 * OPTIONS];
            logits[2] = value;
            logits[OPTIONS + 9] = value;
            let samples = sampled(&logits, &[4, 4], vec![0.5; 2]);
            assert!(!samples[2].is_finite());
            assert_eq!(samples[5], 2.0);
        }
    }
}
