use serde::Serialize;

use super::curves::Curves;
use crate::checkpoint::{Evaluated, Progress};
use crate::config::Games;
use crate::recent_returns::RecentReturns;
use crate::telemetry::Metric;

/// The episodes that a score comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Origin {
    /// The newest evaluation.
    Evaluation,
    /// The last episodes of training.
    Training,
}

/// The score of a run: the mean return in its game, or the [score](Games::score) of its games.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Score {
    pub(super) value: f64,
    pub(super) origin: Origin,
    /// True if it is a mean of human-normalised scores: 0 is a random player, 1 a human player.
    pub(super) human_normalised: bool,
    /// The number of games in the mean.
    pub(super) games: usize,
}

impl Score {
    /// Returns the score of the newest evaluation or, without one, that of the last episodes.
    pub(super) fn newest(games: &Games, curves: &Curves, progress: Option<&Progress>) -> Option<Self> {
        let names = games.names();
        if let Some(returns) = curves.newest(Metric::EvaluationReturn, &names) {
            return Some(Self::new(games, Origin::Evaluation, &returns));
        }
        // The end of long curves may lie after the newest evaluation.
        let evaluation = progress.and_then(|progress| progress.evaluation.as_ref());
        if let Some(score) = evaluation.and_then(|evaluation| Self::saved(games, evaluation)) {
            return Some(score);
        }
        let recent = curves.newest(Metric::RecentReturn, &names);
        let recent = recent.or_else(|| recent_returns(progress?, names.len()))?;
        Some(Self::new(games, Origin::Training, &recent))
    }

    /// Returns the score of an evaluation in a checkpoint.
    fn saved(games: &Games, evaluated: &Evaluated) -> Option<Self> {
        let (names, origin) = (games.names(), Origin::Evaluation);
        if evaluated.returns.len() == names.len() {
            return Some(Self::new(games, origin, &evaluated.returns));
        }
        // An older checkpoint, whose score of some games may be normalised in another way.
        let normalised = games.normalised(names.iter().map(|&name| (name, 0.0))).len();
        let human_normalised = normalised == names.len();
        let is_known = human_normalised || !matches!(games, Games::Atari(_));
        is_known.then_some(Self { value: evaluated.score, origin, human_normalised, games: names.len() })
    }

    fn new(games: &Games, origin: Origin, returns: &[f64]) -> Self {
        let names = games.names();
        if let [value] = *returns {
            return Self { value, origin, human_normalised: false, games: 1 };
        }
        let pairs = || names.iter().copied().zip(returns.iter().copied());
        let normalised = games.normalised(pairs()).len();
        let count = if normalised == 0 { names.len() } else { normalised };
        Self { value: games.score(pairs()), origin, human_normalised: normalised > 0, games: count }
    }
}

/// Returns the mean recent return of each game in a checkpoint, if each of `games` games has one.
fn recent_returns(progress: &Progress, games: usize) -> Option<Vec<f64>> {
    let means: Option<Vec<f64>> = progress.recent_returns.iter().map(RecentReturns::mean).collect();
    means.filter(|means| means.len() == games)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;

    /// Returns games, with Breakout in another mode.
    fn games(names: &str) -> Games {
        let text = format!("[environments]\ngames = [{names}]\n[environments.game.breakout]\nmode = 12");
        config::from_toml(&text).unwrap().resolve().unwrap().games
    }

    #[test]
    fn games_in_other_modes_have_no_part_in_a_human_normalised_score() {
        let human = ale::game("pong").unwrap().human_score.unwrap();
        let score = Score::new(&games("'pong', 'breakout'"), Origin::Training, &[human, 800.0]);
        assert_eq!((score.value, score.human_normalised, score.games), (1.0, true, 1));
        let alone = Score::new(&games("'breakout'"), Origin::Training, &[800.0]);
        assert_eq!((alone.value, alone.human_normalised, alone.games), (800.0, false, 1));
        // A score of an earlier version, which may be normalised.
        let evaluation = Some(Evaluated { frames: 8, score: 27.0, returns: Vec::new() });
        let progress = Progress { evaluation, ..Progress::default() };
        assert_eq!(Score::newest(&games("'breakout'"), &Curves::default(), Some(&progress)), None);
    }

    #[test]
    fn an_evaluation_before_the_end_of_the_curves_is_the_score() {
        // Pong: (0 + 20.7) / (14.6 + 20.7), Breakout: (1.7 - 1.7) / 28.8.
        let cases: [(&[&str], &[f64], f64, bool); 4] = [
            (&["pong", "breakout"], &[0.0, 1.7], 0.5 * 20.7 / 35.3, true),
            (&["pong"], &[0.0], 0.0, false),
            // As in older checkpoints.
            (&["pong", "breakout"], &[], 0.75, true),
            (&["pong"], &[], 0.75, true),
        ];
        for (ids, returns, value, human_normalised) in cases {
            let games = Games::resolve(&ids.iter().map(|&id| id.to_owned()).collect::<Vec<_>>()).unwrap();
            let evaluation = Some(Evaluated { frames: 8, score: 0.75, returns: returns.to_vec() });
            let mut recent = RecentReturns::default();
            recent.push(0, 9.0, 1);
            let progress = Progress { evaluation, recent_returns: vec![recent; 2], ..Progress::default() };
            let score = Score::newest(&games, &Curves::default(), Some(&progress)).unwrap();
            assert!((score.value - value).abs() < 1e-9, "{ids:?} {returns:?}: {score:?}");
            assert_eq!((score.origin, score.human_normalised), (Origin::Evaluation, human_normalised));
        }
    }
}
