use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use super::abandon::abandon_newer;
use super::manifest::Manifest;
use super::request::Requests;
use super::timer::Timer;
use super::{CONFIG, Checkpoint, LearnerState, PROGRESS, Presence, Progress, lock, run_directory, store};
use crate::config::CheckpointSettings;
use crate::durable;
use crate::enclosure;
use crate::files::limit;
use crate::interval::Interval;
use crate::telemetry::Moment;

/// Writes the checkpoints of a run when they are due, and removes old ones.
pub(crate) struct CheckpointWriter {
    run_dir: PathBuf,
    settings: CheckpointSettings,
    /// The progress at the newest checkpoint.
    saved: Option<Moment>,
    due: Interval,
    timer: Timer,
    requests: Requests,
    /// The lock of the run, released when the file is closed.
    lock: File,
    /// The files of the run besides checkpoints and curves.
    files: Vec<(&'static str, Vec<u8>)>,
}

impl CheckpointWriter {
    /// Returns a writer for a run with the progress `moment`, whose newest checkpoint was written at `saved`. `lock` is
    /// the lock of the run.
    pub(crate) fn new(
        run_dir: &Path,
        lock: File,
        settings: &CheckpointSettings,
        moment: Moment,
        saved: Option<Moment>,
    ) -> Result<Self> {
        let checkpoints = run_directory::checkpoints_of(run_dir)?;
        durable::remove_remains(&checkpoints)
            .with_context(|| format!("cannot clean up {}", checkpoints.display()))?;
        Ok(Self {
            run_dir: run_dir.to_owned(),
            settings: settings.clone(),
            saved,
            due: Interval::new(settings.interval_frames, moment.frames),
            timer: Timer::new(settings.interval_minutes, moment.seconds, saved.is_some()),
            requests: Requests::new(run_dir),
            lock,
            files: Vec::new(),
        })
    }

    /// Returns true if a checkpoint is due after `frames` frames. If so, the next one is due an interval later.
    pub(crate) fn is_due(&mut self, frames: u64) -> bool {
        let due = self.due.is_due(frames);
        if due {
            self.due.pass(frames);
        }
        due
    }

    /// Checks that the directory of the run is still there.
    pub(crate) fn presence(&self) -> Presence {
        Presence::check(&self.lock, &lock::file(&self.run_dir))
    }

    /// Remembers the configuration and the provenance of the run, if they exist.
    pub(crate) fn remember_files(&mut self) {
        self.files.clear();
        for (name, limit) in [(CONFIG, limit::EXPERIMENT), (run_directory::PROVENANCE, limit::PROVENANCE)] {
            if let Ok(contents) = enclosure::read(&self.run_dir, &self.run_dir.join(name), limit) {
                self.files.push((name, contents));
            }
        }
    }

    /// Creates the directory of the run again with the remembered files, but without checkpoints and curves.
    pub(crate) fn create_directory_again(&mut self) -> Result<()> {
        fs::create_dir_all(&self.run_dir)
            .with_context(|| format!("cannot write the run directory {}", self.run_dir.display()))?;
        self.lock = lock::acquire(&self.run_dir)?;
        self.saved = None;
        self.files.iter().try_for_each(|(name, contents)| {
            durable::write_inside(&self.run_dir, &self.run_dir.join(name), contents)
        })
    }

    /// Moves checkpoints that are newer than `checkpoint`, from which the run continues, into a separate run. Returns
    /// its directory if there are any.
    pub(crate) fn abandon_newer_than(&self, checkpoint: &Path) -> Result<Option<PathBuf>> {
        abandon_newer(&self.run_dir, checkpoint)
    }

    /// Returns true if a checkpoint with this many bytes of experience is due because of the time since the last one.
    pub(crate) fn is_due_by_time(&self, experience: u64) -> bool {
        self.timer.is_due(experience)
    }

    /// Returns true if a checkpoint with this score of an evaluation would be kept as the best one.
    pub(crate) fn is_best(&self, score: f64) -> bool {
        // Before the first checkpoint there is no directory of checkpoints.
        let checkpoints = || run_directory::newest_first(&self.run_dir).unwrap_or_default();
        self.settings.keep_best && rated(&checkpoints()).all(|rated| score > rated.score)
    }

    /// Returns true if `ale-train checkpoint` requests a checkpoint.
    pub(crate) fn is_requested(&mut self) -> bool {
        self.requests.is_pending()
    }

    /// Answers the request, after an attempt to write the checkpoint.
    pub(crate) fn answer_request(&mut self) -> Result<()> {
        self.requests.answer()
    }

    /// Returns true if a checkpoint with this progress has been written, ignoring the training time.
    pub(crate) fn has(&self, moment: &Moment) -> bool {
        self.saved.is_some_and(|saved| (saved.updates, saved.steps) == (moment.updates, moment.steps))
    }

    /// Forgets which checkpoint has been written, so that the next one is written even if nothing was learned in
    /// between.
    pub(crate) fn forget_saved(&mut self) {
        self.saved = None;
    }

    /// Writes a checkpoint.
    pub(crate) fn write(&mut self, checkpoint: &Checkpoint<impl LearnerState>) -> Result<()> {
        let moment = checkpoint.progress.moment;
        let began = Instant::now();
        let saved = store::save(&self.run_dir, checkpoint);
        self.timer.restart(began.elapsed(), moment.seconds);
        saved?;
        self.saved = Some(moment);
        Ok(())
    }

    /// Removes all checkpoints except the most recent ones and the best one.
    pub(crate) fn remove_old(&self) -> Result<()> {
        for directory in self.surplus()? {
            durable::remove_directory(&directory)
                .with_context(|| format!("cannot remove the old checkpoint {}", directory.display()))?;
        }
        Ok(())
    }

    fn surplus(&self) -> Result<Vec<PathBuf>> {
        let checkpoints = run_directory::newest_first(&self.run_dir)?;
        let best = if self.settings.keep_best { best_of(&checkpoints) } else { None };
        let old = checkpoints.iter().skip(self.settings.keep_last);
        Ok(old.filter(|&directory| Some(directory) != best).cloned().collect())
    }
}

/// Returns the checkpoint that `path` refers to: `path` itself, or the newest or best checkpoint of a run.
pub(crate) fn chosen(path: &Path, best_of_run: bool) -> Result<PathBuf> {
    if best_of_run { best(path) } else { store::latest(path) }
}

/// Returns the checkpoint of a run with the highest score.
fn best(run_dir: &Path) -> Result<PathBuf> {
    ensure!(
        !run_dir.join(Manifest::FILE).exists(),
        "--best requires a run, but {} is a checkpoint",
        run_dir.display()
    );
    let checkpoints = store::checkpoints_of_begun(run_dir)?;
    let best = best_of(&checkpoints)
        .with_context(|| format!("no checkpoint of the run {} has a score yet", run_dir.display()))?;
    Ok(best.clone())
}

/// Returns the checkpoint with the highest score. If several share the score of one evaluation, returns the first one
/// written after that evaluation; of other equal scores, the newest.
fn best_of(newest_first: &[PathBuf]) -> Option<&PathBuf> {
    // The last of equals.
    let best = rated(newest_first).max_by(|a, b| a.score.total_cmp(&b.score).then(b.age.cmp(&a.age)));
    best.map(|rated| rated.directory)
}

/// A checkpoint with a score.
struct Rated<'a> {
    directory: &'a PathBuf,
    score: f64,
    /// The number of frames since the evaluation; 0 for a score of training.
    age: u64,
}

/// Returns the checkpoints that have a score, the oldest first.
fn rated(newest_first: &[PathBuf]) -> impl Iterator<Item = Rated<'_>> {
    newest_first.iter().rev().filter_map(|directory| {
        let progress = Progress::parse(&store::read(directory, PROGRESS).ok()?).ok()?;
        let evaluated = progress.evaluation.as_ref().map(|evaluation| evaluation.frames);
        let age = evaluated.map_or(0, |frames| progress.moment.frames.saturating_sub(frames));
        Some(Rated { directory, score: progress.score?, age })
    })
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::super::Evaluated;
    use super::*;

    fn checkpoint(updates: u64, score: Option<f64>) -> Checkpoint {
        let moment = Moment { updates, ..Moment::default() };
        Checkpoint {
            config: String::new(),
            progress: Progress { moment, score, ..Progress::default() },
            learner: vec![1],
            environments: vec![2],
        }
    }

    fn kept(scores: &[Option<f64>], keep_last: usize, keep_best: bool) -> Vec<String> {
        let run = TempDir::new().unwrap();
        let settings =
            CheckpointSettings { interval_frames: 10, keep_last, keep_best, ..CheckpointSettings::default() };
        let lock = lock::acquire(run.path()).unwrap();
        let mut writer = CheckpointWriter::new(run.path(), lock, &settings, Moment::default(), None).unwrap();
        for (updates, &score) in (1..).zip(scores) {
            writer.write(&checkpoint(updates, score)).unwrap();
            writer.remove_old().unwrap();
        }
        let names = fs::read_dir(run_directory::checkpoints_of(run.path()).unwrap()).unwrap();
        let mut names: Vec<String> =
            names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        assert!(store::latest(run.path()).unwrap().ends_with(format!("update-{:08}", scores.len())));
        names.iter().map(|name| name.trim_start_matches("update-0000000").to_owned()).collect()
    }

    #[test]
    fn keeps_the_last_and_the_best_checkpoints() {
        let scores = [Some(1.0), Some(7.0), Some(3.0), Some(-2.0), None, Some(7.0)];
        assert_eq!(kept(&scores, 2, true), ["5", "6"], "the newest of several best");
        assert_eq!(kept(&scores[..5], 2, true), ["2", "4", "5"]);
        assert_eq!(kept(&scores[..5], 1, false), ["5"]);
        assert_eq!(kept(&[None, None, None], 2, true), ["2", "3"]);
    }

    /// A run that is stopped and resumed before its first update writes such checkpoints.
    #[test]
    fn the_newest_of_many_checkpoints_of_one_update_remains() {
        for keep_last in [1, 3] {
            let run = TempDir::new().unwrap();
            let settings =
                CheckpointSettings { keep_last, keep_best: false, ..CheckpointSettings::default() };
            let lock = lock::acquire(run.path()).unwrap();
            let mut writer =
                CheckpointWriter::new(run.path(), lock, &settings, Moment::default(), None).unwrap();
            for steps in 0..8 {
                let mut checkpoint = checkpoint(0, None);
                checkpoint.progress.moment.steps = steps;
                writer.write(&checkpoint).unwrap();
                writer.remove_old().unwrap();
                let newest = store::load(&store::latest(run.path()).unwrap()).unwrap();
                assert_eq!(newest.progress.moment.steps, steps, "keep_last = {keep_last}");
            }
            assert_eq!(run_directory::newest_first(run.path()).unwrap().len(), keep_last);
        }
    }

    #[test]
    fn finds_the_best_checkpoint() {
        let run = TempDir::new().unwrap();
        for (updates, score) in [(1, None), (2, Some(-20.5)), (3, Some(-21.0))] {
            store::save(run.path(), &checkpoint(updates, score)).unwrap();
        }
        let best_of_run = best(run.path()).unwrap();
        assert!(best_of_run.ends_with("update-00000002"));
        let error = best(&best_of_run).unwrap_err().to_string();
        assert!(error.ends_with("update-00000002 is a checkpoint"), "{error}");
    }

    #[test]
    fn a_score_above_those_of_all_checkpoints_is_the_best() {
        let run = TempDir::new().unwrap();
        let lock = lock::acquire(run.path()).unwrap();
        let settings = CheckpointSettings::default();
        let mut writer = CheckpointWriter::new(run.path(), lock, &settings, Moment::default(), None).unwrap();
        assert!(writer.is_best(-21.0));
        for (updates, score) in [(1, None), (2, Some(-20.5)), (3, Some(-21.0))] {
            writer.write(&checkpoint(updates, score)).unwrap();
        }
        assert_eq!([-20.6, -20.5, -20.4].map(|score| writer.is_best(score)), [false, false, true]);
        writer.settings.keep_best = false;
        assert!(!writer.is_best(0.0));
    }

    #[test]
    fn of_checkpoints_with_the_same_evaluation_the_best_is_the_evaluated_one() {
        let run = TempDir::new().unwrap();
        for (updates, evaluated, score) in [(1, 0, 2.0), (2, 2, 9.0), (3, 2, 9.0), (4, 4, 9.0), (5, 4, 9.0)] {
            let mut checkpoint = checkpoint(updates, Some(score));
            checkpoint.progress.moment.frames = updates;
            checkpoint.progress.evaluation =
                Some(Evaluated { frames: evaluated, score, returns: vec![score] });
            store::save(run.path(), &checkpoint).unwrap();
        }
        assert!(best(run.path()).unwrap().ends_with("update-00000004"));
    }
}
