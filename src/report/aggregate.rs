//! Aggregates over games and runs, as Agarwal et al. 2021, "Deep Reinforcement Learning at the Edge of the Statistical
//! Precipice", recommend them.

use rand::Rng;

use crate::statistics::{interquartile_mean, mean, median};

/// Resamples of a confidence interval.
const RESAMPLES: usize = 10_000;
/// How sure an interval is.
const CONFIDENCE: f64 = 0.95;
/// The human-normalised score from which on a game counts as solved in the optimality gap.
const OPTIMAL: f64 = 1.0;

/// One number for normalised scores `[game][run]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aggregate {
    /// Median over the games of the mean over the runs.
    Median,
    /// Mean of the middle half of all runs of all games.
    InterquartileMean,
    /// Mean over the games of the mean over the runs.
    Mean,
    /// How much is missing to human level in the mean, scores above it counting as human.
    OptimalityGap,
}

impl Aggregate {
    pub(super) const ALL: [Self; 4] =
        [Self::Median, Self::InterquartileMean, Self::Mean, Self::OptimalityGap];

    /// What a heading calls it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Median => "median",
            Self::InterquartileMean => "IQM",
            Self::Mean => "mean",
            Self::OptimalityGap => "optimality gap",
        }
    }

    /// The number. Every game has at least one run.
    pub(super) fn of(self, scores: &[Vec<f64>]) -> f64 {
        let of_games = || scores.iter().map(|runs| mean(runs.iter().copied())).collect();
        let all = || scores.iter().flatten().copied();
        match self {
            Self::Median => median(of_games()),
            Self::InterquartileMean => interquartile_mean(all().collect()),
            Self::Mean => mean(of_games()),
            Self::OptimalityGap => OPTIMAL - mean(all().map(|score| score.min(OPTIMAL))),
        }
    }

    /// The ends of its 95 % confidence interval, by the percentiles of a bootstrap that is stratified by game.
    pub(super) fn interval(self, scores: &[Vec<f64>], rng: &mut impl Rng) -> (f64, f64) {
        let values = self.resampled(scores, rng);
        let tail = (1.0 - CONFIDENCE) / 2.0;
        (percentile(&values, tail), percentile(&values, 1.0 - tail))
    }

    /// What the number would be had other runs been drawn, in ascending order.
    fn resampled(self, scores: &[Vec<f64>], rng: &mut impl Rng) -> Vec<f64> {
        let mut resampled = scores.to_vec();
        let mut values: Vec<f64> = (0..RESAMPLES)
            .map(|_| {
                for (drawn, runs) in resampled.iter_mut().zip(scores) {
                    drawn.fill_with(|| runs[rng.random_range(0..runs.len())]);
                }
                self.of(&resampled)
            })
            .collect();
        values.sort_by(f64::total_cmp);
        values
    }
}

/// The value below which that share of the sorted values is.
fn percentile(values: &[f64], share: f64) -> f64 {
    values[((values.len() - 1) as f64 * share).round() as usize]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::process::Command;

    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;
    use serde::Deserialize;

    use super::*;

    #[test]
    fn aggregates_by_hand() {
        // Means of the games 1, 3 and 0.5.
        let scores = [vec![0.0, 2.0], vec![2.0, 4.0], vec![0.5, 0.5]];
        let values = Aggregate::ALL.map(|aggregate| aggregate.of(&scores));
        // Sorted 0 0.5 0.5 2 2 4: one left out at either end. Capped 0 1 1 1 0.5 0.5: mean 4/6.
        let expected = [1.0, 1.25, 1.5, 1.0 / 3.0];
        for (value, expected) in values.into_iter().zip(expected) {
            assert!((value - expected).abs() < 1e-12, "{values:?}");
        }
    }

    #[test]
    fn an_interval_is_a_point_where_all_runs_agree_and_wider_where_they_differ() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for aggregate in Aggregate::ALL {
            let agreed = [vec![0.25; 4], vec![0.75; 4]];
            let value = aggregate.of(&agreed);
            assert_eq!(aggregate.interval(&agreed, &mut rng), (value, value));
            let differing = [vec![0.1, 0.2, 0.3, 0.9], vec![0.0, 0.5, 0.6, 0.8]];
            let (low, high) = aggregate.interval(&differing, &mut rng);
            let value = aggregate.of(&differing);
            assert!(low < value && value < high, "{aggregate:?}: {low} {value} {high}");
        }
    }

    /// The mean of n numbers resampled has the variance s^2/n: the interval is about 1.96 of its roots wide on both sides.
    #[test]
    fn the_interval_of_a_mean_is_as_wide_as_theory_says() {
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let runs: Vec<f64> = (0..100).map(f64::from).collect();
        let (low, high) = Aggregate::Mean.interval(&[runs], &mut rng);
        let expected = 1.96 * (9999.0f64 / 12.0 / 100.0).sqrt();
        assert!((high - 49.5 - expected).abs() < 0.5 && (49.5 - low - expected).abs() < 0.5, "{low} {high}");
    }

    /// Scores `[game][run]` and what rliable makes of them.
    #[derive(Debug, Deserialize)]
    struct Recorded {
        scores: Vec<Vec<f64>>,
        estimates: BTreeMap<String, Estimate>,
    }

    #[derive(Debug, Deserialize)]
    struct Estimate {
        value: f64,
        low: f64,
        high: f64,
    }

    /// An end of an interval is where a share of 0.025 of the resamples is beyond it. That share has a standard error of
    /// `sqrt(0.025 * 0.975 / 10,000)` = 0.0016 in ours and at most the same in rliable's: 0.0022 for both. So rliable's ends are
    /// between our percentiles five times that, 0.011, to either side, however coarse the values of few runs are.
    fn assert_equal_to_rliable(recorded: &str) {
        let cases: Vec<Recorded> = serde_json::from_str(recorded).expect("what record_rliable.py prints");
        assert_eq!(cases.len(), 6);
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        for Recorded { scores, estimates } in &cases {
            for aggregate in Aggregate::ALL {
                let Estimate { value, low, high } = estimates[aggregate.name()];
                let shape = (scores.len(), scores[0].len());
                let ours = aggregate.of(scores);
                assert!((ours - value).abs() < 1e-12, "{aggregate:?} of {shape:?}: {ours} and {value}");
                let values = aggregate.resampled(scores, &mut rng);
                for (end, share) in [(low, 0.025), (high, 0.975)] {
                    let [least, most] =
                        [share - 0.011, share + 0.011].map(|share| percentile(&values, share));
                    assert!(
                        (least - 1e-12..=most + 1e-12).contains(&end),
                        "{aggregate:?} of {shape:?}: {end} is not in {least}..={most}"
                    );
                }
            }
        }
    }

    #[test]
    fn aggregates_and_intervals_equal_those_recorded_from_rliable() {
        assert_equal_to_rliable(include_str!("../../tests/data/rliable.json"));
    }

    /// With `$ALE_TRAIN_TEST_PYTHON`, or else python3, where that has rliable.
    #[test]
    fn aggregates_and_intervals_equal_those_of_an_installed_rliable() {
        let python = std::env::var("ALE_TRAIN_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
        let has_rliable = Command::new(&python).args(["-c", "import rliable.library"]).output();
        if !has_rliable.is_ok_and(|output| output.status.success()) {
            eprintln!("not compared with rliable itself: {python} cannot import it");
            return;
        }
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/record_rliable.py");
        let output = Command::new(&python).args([script, "10000"]).output().expect("Python");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_equal_to_rliable(&String::from_utf8(output.stdout).expect("text"));
    }
}
