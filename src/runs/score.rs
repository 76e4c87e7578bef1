use serde::Serialize;

use super::curves::Curves;
use crate::checkpoint::Progress;
use crate::config::Games;
use crate::statistics::mean;
use crate::telemetry::Metric;

/// The games that a score was reached in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Origin {
    /// The newest evaluation.
    Evaluation,
    /// The last episodes of training.
    Training,
}

/// The score of a run: the mean return in its game, or the mean over its games.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Score {
    pub(super) value: f64,
    pub(super) origin: Origin,
    /// True if it is a mean of human-normalised scores: 0 is a random player, 1 a human player.
    pub(super) human_normalised: bool,
}

impl Score {
    /// Returns the score of the newest evaluation or, without one, that of the last episodes.
    pub(super) fn newest(games: &Games, curves: &Curves, progress: Option<&Progress>) -> Option<Self> {
        let names = games.names();
        let of = |origin, returns: Vec<f64>| Self::of(games, origin, &returns);
        let evaluated = curves.newest(Metric::EvaluationReturn, &names);
        let recent = || {
            let saved = progress?.recent_returns.iter();
            let means: Option<Vec<f64>> =
                saved.map(|returns| (!returns.is_empty()).then(|| mean(returns.iter().copied()))).collect();
            means.filter(|means| means.len() == names.len())
        };
        evaluated.map(|returns| of(Origin::Evaluation, returns)).or_else(|| {
            curves
                .newest(Metric::RecentReturn, &names)
                .or_else(recent)
                .map(|returns| of(Origin::Training, returns))
        })
    }

    fn of(games: &Games, origin: Origin, returns: &[f64]) -> Self {
        let names = games.names();
        if let [value] = *returns {
            return Self { value, origin, human_normalised: false };
        }
        let pairs = || names.iter().copied().zip(returns.iter().copied());
        let human_normalised = pairs().all(|(name, value)| games.human_normalised(name, value).is_some());
        Self { value: games.score(pairs()), origin, human_normalised }
    }
}
