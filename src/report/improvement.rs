//! The probability of improvement of Agarwal et al. 2021.

use rand::Rng;

use super::aggregate::{RESAMPLES, confidence_interval};

/// The comparison of two settings: that of each run of the one with each run of the other in a game, for all games.
pub(super) struct Improvement(Vec<Outcomes>);

/// The outcomes of a game, a row for each run of the first setting: 1 if it scores higher than a run of the second one,
/// 0.5 if the scores are equal.
type Outcomes = Vec<Vec<f64>>;

impl Improvement {
    /// Compares the scores of two settings `[game][run]` in the same games, of which there is at least one. Every game
    /// has at least one run of each.
    pub(super) fn new(first: &[Vec<f64>], second: &[Vec<f64>]) -> Self {
        let outcomes = |(first, second): (&Vec<f64>, &Vec<f64>)| -> Outcomes {
            first.iter().map(|&score| second.iter().map(|&other| outcome(score, other)).collect()).collect()
        };
        Self(first.iter().zip(second).map(outcomes).collect())
    }

    /// Returns the probability that a random run of the first setting scores higher than one of the second in the same
    /// game, averaged over the games. Equal scores count half.
    pub(super) fn probability(&self) -> f64 {
        let of_game = |outcomes: &Outcomes| {
            outcomes.iter().flatten().sum::<f64>() / (outcomes.len() * outcomes[0].len()) as f64
        };
        self.mean(of_game)
    }

    /// Returns the ends of the 95 % confidence interval: percentiles of a bootstrap of the runs of both settings,
    /// stratified by game.
    pub(super) fn interval(&self, rng: &mut impl Rng) -> (f64, f64) {
        confidence_interval(&self.resampled(rng))
    }

    /// Returns the sorted probabilities of the bootstrap resamples.
    fn resampled(&self, rng: &mut impl Rng) -> Vec<f64> {
        let mut values: Vec<f64> =
            (0..RESAMPLES).map(|_| self.mean(|outcomes| resampled_probability(outcomes, rng))).collect();
        values.sort_by(f64::total_cmp);
        values
    }

    fn mean(&self, of_game: impl FnMut(&Outcomes) -> f64) -> f64 {
        self.0.iter().map(of_game).sum::<f64>() / self.0.len() as f64
    }
}

fn outcome(score: f64, other: f64) -> f64 {
    if score == other { 0.5 } else { f64::from(u8::from(score > other)) }
}

/// Returns the probability of one game with as many random runs of each setting as there are.
fn resampled_probability(outcomes: &Outcomes, rng: &mut impl Rng) -> f64 {
    let mut draw = |count: usize| -> Vec<usize> { (0..count).map(|_| rng.random_range(0..count)).collect() };
    let (rows, columns) = (draw(outcomes.len()), draw(outcomes[0].len()));
    let wins: f64 =
        rows.iter().flat_map(|&row| columns.iter().map(move |&column| outcomes[row][column])).sum();
    wins / (rows.len() * columns.len()) as f64
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::super::aggregate::quantile;
    use super::super::rliable::assert_equal_in_recording_and_library;
    use super::*;

    #[test]
    fn probabilities_equal_those_computed_by_hand() {
        // Of six pairs, 2 > 1, 4 > 1, 4 > 3 and half of 3 = 3; then one of one.
        let (first, second) = ([vec![2.0, 4.0, 3.0], vec![0.0]], [vec![1.0, 3.0], vec![-1.0]]);
        let forth = Improvement::new(&first, &second);
        assert!((forth.probability() - f64::midpoint(4.5 / 6.0, 1.0)).abs() < 1e-12);
        let back = Improvement::new(&second, &first);
        assert!((forth.probability() + back.probability() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn an_interval_is_a_point_if_all_runs_agree_and_contains_the_probability_otherwise() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let agreed = Improvement::new(&[vec![2.0; 3]], &[vec![1.0; 4]]);
        assert_eq!(agreed.interval(&mut rng), (1.0, 1.0));
        let differing = Improvement::new(&[vec![0.1, 0.2, 0.6, 0.9]], &[vec![0.0, 0.5, 0.7]]);
        let (low, high) = differing.interval(&mut rng);
        assert!(low < differing.probability() && differing.probability() < high, "{low} {high}");
    }

    #[test]
    fn probabilities_and_intervals_equal_those_of_rliable() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        assert_equal_in_recording_and_library(|case| {
            let improvement = &case.improvement;
            let compared = Improvement::new(&case.scores[..improvement.over.len()], &improvement.over);
            let values = compared.resampled(&mut rng);
            improvement.estimate.assert_equal(compared.probability(), |share| quantile(&values, share));
        });
    }
}
