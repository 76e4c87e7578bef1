//! Aggregate scores over games and runs, as recommended by Agarwal et al. 2021, "Deep Reinforcement Learning at the
//! Edge of the Statistical Precipice".

use rand::Rng;

use crate::statistics::{interquartile_mean, mean, median};

/// The number of bootstrap resamples of a confidence interval.
pub(super) const RESAMPLES: usize = 10_000;
/// The coverage of a confidence interval.
const CONFIDENCE: f64 = 0.95;
/// The human-normalised score at which the optimality gap counts a game as solved.
const OPTIMAL: f64 = 1.0;

/// A statistic of normalised scores `[game][run]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aggregate {
    /// Median over the games of the mean over the runs.
    Median,
    /// Mean of the middle half of all runs of all games.
    InterquartileMean,
    /// Mean over the games of the mean over the runs.
    Mean,
    /// Mean shortfall from the human level; scores above that level count as equal to it.
    OptimalityGap,
}

impl Aggregate {
    pub(super) const ALL: [Self; 4] =
        [Self::Median, Self::InterquartileMean, Self::Mean, Self::OptimalityGap];

    /// Returns the heading of the statistic.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Median => "median",
            Self::InterquartileMean => "IQM",
            Self::Mean => "mean",
            Self::OptimalityGap => "optimality gap",
        }
    }

    /// Computes the statistic. Every game has at least one run.
    pub(super) fn compute(self, scores: &[Vec<f64>]) -> f64 {
        let game_means = || scores.iter().map(|runs| mean(runs.iter().copied())).collect();
        let runs = || scores.iter().flatten().copied();
        match self {
            Self::Median => median(game_means()),
            Self::InterquartileMean => interquartile_mean(runs().collect()),
            Self::Mean => mean(game_means()),
            Self::OptimalityGap => OPTIMAL - mean(runs().map(|score| score.min(OPTIMAL))),
        }
    }

    /// Returns the ends of the 95 % confidence interval: percentiles of a bootstrap stratified by game.
    pub(super) fn interval(self, scores: &[Vec<f64>], rng: &mut impl Rng) -> (f64, f64) {
        let values = self.resampled(scores, rng);
        confidence_interval(&values)
    }

    /// Returns the sorted statistics of the bootstrap resamples.
    fn resampled(self, scores: &[Vec<f64>], rng: &mut impl Rng) -> Vec<f64> {
        let mut resampled = scores.to_vec();
        let mut values: Vec<f64> = (0..RESAMPLES)
            .map(|_| {
                for (drawn, runs) in resampled.iter_mut().zip(scores) {
                    drawn.fill_with(|| runs[rng.random_range(0..runs.len())]);
                }
                self.compute(&resampled)
            })
            .collect();
        values.sort_by(f64::total_cmp);
        values
    }
}

/// Returns the ends of the 95 % confidence interval of the sorted statistics of bootstrap resamples.
pub(super) fn confidence_interval(values: &[f64]) -> (f64, f64) {
    let tail = (1.0 - CONFIDENCE) / 2.0;
    (quantile(values, tail), quantile(values, 1.0 - tail))
}

/// Returns the quantile of sorted values.
pub(super) fn quantile(values: &[f64], share: f64) -> f64 {
    values[((values.len() - 1) as f64 * share).round() as usize]
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::super::rliable::assert_equal_in_recording_and_library;
    use super::*;

    #[test]
    fn aggregates_equal_those_computed_by_hand() {
        // Means of the games 1, 3 and 0.5.
        let scores = [vec![0.0, 2.0], vec![2.0, 4.0], vec![0.5, 0.5]];
        let values = Aggregate::ALL.map(|aggregate| aggregate.compute(&scores));
        // Sorted 0 0.5 0.5 2 2 4, of which one is dropped at each end. Capped 0 1 1 1 0.5 0.5, with mean 4/6.
        let expected = [1.0, 1.25, 1.5, 1.0 / 3.0];
        for (value, expected) in values.into_iter().zip(expected) {
            assert!((value - expected).abs() < 1e-12, "{values:?}");
        }
    }

    #[test]
    fn an_interval_is_a_point_if_all_runs_agree_and_wider_otherwise() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for aggregate in Aggregate::ALL {
            let agreed = [vec![0.25; 4], vec![0.75; 4]];
            let value = aggregate.compute(&agreed);
            assert_eq!(aggregate.interval(&agreed, &mut rng), (value, value));
            let differing = [vec![0.1, 0.2, 0.3, 0.9], vec![0.0, 0.5, 0.6, 0.8]];
            let (low, high) = aggregate.interval(&differing, &mut rng);
            let value = aggregate.compute(&differing);
            assert!(low < value && value < high, "{aggregate:?}: {low} {value} {high}");
        }
    }

    /// The mean of n resampled values has the variance s^2/n, so the interval is about 1.96 standard deviations wide to
    /// each side.
    #[test]
    fn the_interval_of_a_mean_has_the_theoretical_width() {
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let runs: Vec<f64> = (0..100).map(f64::from).collect();
        let (low, high) = Aggregate::Mean.interval(&[runs], &mut rng);
        let expected = 1.96 * (9999.0f64 / 12.0 / 100.0).sqrt();
        assert!((high - 49.5 - expected).abs() < 0.5 && (49.5 - low - expected).abs() < 0.5, "{low} {high}");
    }

    #[test]
    fn aggregates_and_intervals_equal_those_of_rliable() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        assert_equal_in_recording_and_library(|case| {
            for aggregate in Aggregate::ALL {
                let values = aggregate.resampled(&case.scores, &mut rng);
                let estimate = case.estimates[aggregate.name()];
                estimate.assert_equal(aggregate.compute(&case.scores), |share| quantile(&values, share));
            }
        });
    }
}
