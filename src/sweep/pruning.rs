//! Ends runs early that are worse than others at the same point of training.
//!
//! The scores of all runs are in their curves, so a continued sweep decides as if it had not been interrupted.

use std::fmt::{self, Display};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value};

use crate::cli::PruneRule;
use crate::config::Games;
use crate::runs::{GrowingCurves, NewRecords};
use crate::statistics::median;
use crate::telemetry::{Metric, Moment};

/// Successive halving keeps the best run of every three that reach a point.
const REDUCTION: u64 = 3;
/// The number of points of successive halving.
const RUNGS: u32 = 3;
/// The median rule divides the training into eight parts and judges after each, from a quarter of it on.
const PARTS: u64 = 8;
/// The median rule needs the scores of at least four other runs.
const MIN_OTHERS: usize = 4;

/// Judges the runs of a sweep.
pub(super) struct Pruning {
    rule: PruneRule,
    runs: Mutex<Vec<RunScores>>,
}

/// The reason why a run ended early.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pruned {
    frames: u64,
    score: f64,
    better: usize,
    others: usize,
}

impl Pruning {
    /// Prepares to judge runs, each of which has a directory, games, and a number of frames to train for.
    pub(super) fn new(rule: PruneRule, runs: impl Iterator<Item = (PathBuf, Games, u64)>) -> Self {
        let points = |total: u64| rule.points(total);
        let runs = runs.map(|(run_dir, games, total)| RunScores::new(&run_dir, games, points(total)));
        Self { rule, runs: Mutex::new(runs.collect()) }
    }

    /// Reads the curves that all runs have so far.
    pub(super) fn read_all(&self) -> io::Result<()> {
        self.lock().iter_mut().try_for_each(RunScores::read_on)
    }

    /// Reads on in the curves of a run. Returns the reason if it is to end: the last point that it has reached decides.
    pub(super) fn judge(&self, run_dir: &Path) -> io::Result<Option<Pruned>> {
        let mut runs = self.lock();
        let Some(index) = runs.iter().position(|run| run.run_dir == run_dir) else { return Ok(None) };
        runs[index].read_on()?;
        let run = &runs[index];
        let Some((point, &Some(score))) = run.scores.iter().enumerate().next_back() else { return Ok(None) };
        let is_comparable =
            |other: &&RunScores| other.run_dir != run_dir && other.games.labels() == run.games.labels();
        let others: Vec<f64> =
            runs.iter().filter(is_comparable).filter_map(|other| other.score(point)).collect();
        let better = others.iter().filter(|&&other| other > score).count();
        Ok((!self.rule.keeps(score, &others)).then(|| Pruned {
            frames: run.points[point],
            score,
            better,
            others: others.len(),
        }))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<RunScores>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PruneRule {
    /// Returns the numbers of frames at which a run that trains for `total` frames is judged, in ascending order.
    fn points(self, total: u64) -> Vec<u64> {
        match self {
            Self::Median => (PARTS / 4..PARTS).map(|part| total / PARTS * part).collect(),
            Self::Halving => (1..=RUNGS).rev().map(|rung| total / REDUCTION.pow(rung)).collect(),
        }
    }

    /// Returns true if a run with this score continues, given those of other runs at the same point.
    fn keeps(self, score: f64, others: &[f64]) -> bool {
        match self {
            Self::Median => others.len() < MIN_OTHERS || score >= median(others.to_vec()),
            Self::Halving => {
                let kept = (others.len() + 1).div_ceil(REDUCTION as usize);
                others.iter().filter(|&&other| other > score).count() < kept
            }
        }
    }
}

impl Display for Pruned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { frames, score, better, others } = self;
        write!(f, "score {score:.3} after {frames} frames; {better} of {others} other runs were better there")
    }
}

/// The scores of a run at the points where it is judged.
struct RunScores {
    run_dir: PathBuf,
    games: Games,
    /// Frames, in ascending order.
    points: Vec<u64>,
    curves: GrowingCurves,
    /// The newest mean return of the last episodes of each game.
    recent: Vec<Option<f64>>,
    /// The scores at the points that the run has reached; `None` if a game had no complete episode.
    scores: Vec<Option<f64>>,
}

impl RunScores {
    fn new(run_dir: &Path, games: Games, points: Vec<u64>) -> Self {
        let recent = vec![None; games.names().len()];
        Self {
            run_dir: run_dir.to_owned(),
            games,
            points,
            curves: GrowingCurves::of(run_dir),
            recent,
            scores: Vec::new(),
        }
    }

    fn score(&self, point: usize) -> Option<f64> {
        self.scores.get(point).copied().flatten()
    }

    fn read_on(&mut self) -> io::Result<()> {
        loop {
            let NewRecords { is_restart, records, has_more } = self.curves.read()?;
            if is_restart {
                self.recent.fill(None);
                self.scores.clear();
            }
            for record in &records {
                self.add(record);
            }
            if !has_more {
                return Ok(());
            }
        }
    }

    fn add(&mut self, record: &Map<String, Value>) {
        let Some(moment) = Moment::of_line(record) else { return };
        // The score at a point comes from the records before it.
        while self.points.get(self.scores.len()).is_some_and(|&point| moment.frames > point) {
            self.scores.push(self.recent_score());
        }
        let names = self.games.names();
        let is_only = names.len() == 1;
        for (recent, name) in self.recent.iter_mut().zip(names) {
            let tags = [Metric::RecentReturn.tag(Some(name)), Metric::RecentReturn.tag(None)];
            let tags = if is_only { &tags[..] } else { &tags[..1] };
            *recent = tags.iter().find_map(|tag| record.get(tag)?.as_f64()).or(*recent);
        }
    }

    fn recent_score(&self) -> Option<f64> {
        let returns: Vec<f64> = self.recent.iter().copied().collect::<Option<_>>()?;
        Some(self.games.score(self.games.names().into_iter().zip(returns)))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;

    fn games(names: &[&str]) -> Games {
        Games::resolve(&names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>()).unwrap()
    }

    /// Writes the curves of a run whose return is `value` until the end.
    fn write_curves(directory: &Path, name: &str, end: u64, value: f64) -> PathBuf {
        let run_dir = directory.join(name);
        fs::create_dir_all(&run_dir).unwrap();
        let line =
            |frames: u64| format!("{{\"frames\":{frames},\"seconds\":1,\"charts/recent_return\":{value}}}\n");
        let lines: String = (1..=end / 10).map(|tens| line(10 * tens)).collect();
        fs::write(run_dir.join("metrics.jsonl"), lines).unwrap();
        run_dir
    }

    #[test]
    fn the_points_of_both_rules_lie_within_the_training() {
        assert_eq!(PruneRule::Median.points(800), [200, 300, 400, 500, 600, 700]);
        assert_eq!(PruneRule::Halving.points(2700), [100, 300, 900]);
    }

    #[test]
    fn the_median_rule_keeps_what_is_not_below_the_median_of_four_others() {
        let others = [1.0, 2.0, 4.0, 5.0];
        assert!(PruneRule::Median.keeps(3.0, &others) && !PruneRule::Median.keeps(2.9, &others));
        assert!(PruneRule::Median.keeps(0.0, &others[..3]));
    }

    #[test]
    fn halving_keeps_the_best_third() {
        let keeps = |score, others: &[f64]| PruneRule::Halving.keeps(score, others);
        assert!(keeps(0.0, &[]) && !keeps(0.0, &[1.0]) && keeps(1.0, &[1.0]));
        assert!(keeps(2.0, &[1.0, 0.0, 3.0]) && !keeps(2.0, &[2.5, 0.0, 3.0]));
    }

    #[test]
    fn a_run_is_judged_by_its_last_point_among_runs_of_the_same_games() {
        let temp = TempDir::new().unwrap();
        let run = |name: &str, end: u64, value: f64, game: &str| {
            (write_curves(temp.path(), name, end, value), games(&[game]), 270)
        };
        let worse = run("worse", 40, 1.0, "CartPole-v1");
        let worse_dir = worse.0.clone();
        let runs = [worse, run("early", 10, 9.0, "CartPole-v1"), run("other", 270, 9.0, "Acrobot-v1")];
        let pruning = Pruning::new(PruneRule::Halving, runs.into_iter());
        pruning.read_all().unwrap();
        // The points are 10, 30 and 90 frames. The better run has passed none of them, that of another game all.
        assert_eq!(pruning.judge(&worse_dir).unwrap(), None);
        write_curves(temp.path(), "early", 40, 9.0);
        pruning.read_all().unwrap();
        let pruned = pruning.judge(&worse_dir).unwrap();
        assert_eq!(pruned, Some(Pruned { frames: 30, score: 1.0, better: 1, others: 1 }));
        assert_eq!(
            pruned.unwrap().to_string(),
            "score 1.000 after 30 frames; 1 of 1 other runs were better there"
        );
        // A run that continues from an earlier checkpoint has not reached the point again.
        write_curves(temp.path(), "worse", 20, 1.0);
        write_curves(temp.path(), "early", 20, 0.0);
        pruning.read_all().unwrap();
        assert_eq!(pruning.judge(&worse_dir).unwrap(), None);
    }
}
