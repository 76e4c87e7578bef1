//! The categorical distribution over the actions of one row, on the host.
//!
//! Slices contain only legal actions, so that an illegal one is never sampled. Sampling on the host draws exactly one
//! random number per row, in row order, and therefore does not depend on threads or devices.
//!
//! ```
//! use algorithms::categorical::{log_softmax, sample};
//! use rand::SeedableRng;
//!
//! let mut logits = [0.0, 9f32.ln()];
//! log_softmax(&mut logits);
//! assert!((logits[1].exp() - 0.9).abs() < 1e-6);
//! let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(1);
//! assert!(sample(&logits, &mut rng) < 2);
//! ```

use rand::Rng;

/// Converts logits to log-probabilities in place: `x_i - log(sum over j of exp(x_j))`.
pub fn log_softmax(logits: &mut [f32]) {
    let max = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f32 = logits.iter().map(|&logit| (logit - max).exp()).sum();
    let log_sum = max + sum.ln();
    for logit in logits {
        *logit -= log_sum;
    }
}

/// Samples an index with the given log-probabilities: the first one whose cumulative probability exceeds a uniform
/// random number. An index of probability 0 is never sampled.
///
/// # Panics
/// Panics if no probability is greater than 0.
pub fn sample(log_probs: &[f32], rng: &mut impl Rng) -> usize {
    let probability = |log_prob: f32| f64::from(log_prob).exp();
    let total: f64 = log_probs.iter().map(|&log_prob| probability(log_prob)).sum();
    let threshold = rng.random::<f64>() * total;
    let mut cumulative = 0.0;
    log_probs
        .iter()
        .position(|&log_prob| {
            cumulative += probability(log_prob);
            threshold < cumulative
        })
        // The product above may round up to the total.
        .or_else(|| log_probs.iter().rposition(|&log_prob| probability(log_prob) > 0.0))
        .expect("at least one probability is positive")
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;

    #[test]
    fn log_softmax_of_known_odds() {
        let mut logits = [1000.0, 1000.0 + 3f32.ln()];
        log_softmax(&mut logits);
        assert!((logits[0].exp() - 0.25).abs() < 1e-4, "{logits:?}");
        assert!((logits[1].exp() - 0.75).abs() < 1e-4, "{logits:?}");
    }

    #[test]
    fn samples_have_the_given_frequencies_and_never_probability_zero() {
        let log_probs = [f32::NEG_INFINITY, 0.2f32.ln(), -1e30, 0.5f32.ln(), 0.3f32.ln(), f32::NEG_INFINITY];
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut counts = [0; 6];
        for _ in 0..100_000 {
            counts[sample(&log_probs, &mut rng)] += 1;
        }
        assert_eq!((counts[0], counts[2], counts[5]), (0, 0, 0));
        // Five standard deviations of a binomial count are at most 800.
        for (count, expected) in [(counts[1], 20_000), (counts[3], 50_000), (counts[4], 30_000)] {
            assert!(i32::abs(count - expected) < 800, "{counts:?}");
        }
    }
}
