//! The results of the games of two players.

use serde::Serialize;

/// The 97.5th percentile of the standard normal distribution.
const QUANTILE: f64 = 1.959_963_984_540_054;

/// The results of some episodes.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct Record {
    /// The scores of both contestants in each episode.
    pub(super) scores: Vec<[f64; 2]>,
}

impl Record {
    /// Returns the numbers of episodes that the first contestant has won, that nobody has won, and that it has lost.
    pub(super) fn counts(&self) -> [usize; 3] {
        let count =
            |is: fn(f64, f64) -> bool| self.scores.iter().filter(|[own, other]| is(*own, *other)).count();
        [count(|own, other| own > other), count(|own, other| own == other), count(|own, other| own < other)]
    }

    /// Returns the share of won episodes; a draw is half a win.
    pub(super) fn win_rate(&self) -> f64 {
        let [wins, draws, _] = self.counts();
        (wins as f64 + 0.5 * draws as f64) / self.scores.len() as f64
    }

    /// Returns the 95 % confidence interval of the win rate (Wilson, 1927). Draws make it too wide.
    pub(super) fn interval(&self) -> [f64; 2] {
        let (count, rate) = (self.scores.len() as f64, self.win_rate());
        let square = QUANTILE * QUANTILE / count;
        let centre = rate + square / 2.0;
        let width = (square * rate * (1.0 - rate) + square * square / 4.0).sqrt();
        [centre - width, centre + width].map(|bound| bound / (1.0 + square))
    }

    /// Returns the mean score of each contestant.
    pub(super) fn means(&self) -> [f64; 2] {
        [0, 1].map(|contestant| {
            let sum: f64 = self.scores.iter().map(|scores| scores[contestant]).sum();
            sum / self.scores.len() as f64
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_match_a_calculation_by_hand() {
        let record = Record { scores: vec![[3.0, 1.0], [2.0, 2.0], [0.0, 4.0], [1.0, 0.0]] };
        assert_eq!(record.counts(), [2, 1, 1]);
        assert_eq!((record.win_rate(), record.means()), (0.625, [1.5, 1.75]));
    }

    #[test]
    fn intervals_are_those_of_wilson() {
        // The roots of (p - rate)^2 = z^2 p (1 - p) / n, found by bisection.
        for (wins, losses, expected) in [(90, 10, [0.825_634_3, 0.944_770_9]), (10, 0, [0.722_467_2, 1.0])] {
            let scores = [vec![[1.0, 0.0]; wins], vec![[0.0, 1.0]; losses]].concat();
            let interval = Record { scores }.interval();
            let distance = |index: usize| (interval[index] - expected[index]).abs();
            assert!(distance(0) < 1e-5 && distance(1) < 1e-5, "{interval:?}");
        }
    }
}
