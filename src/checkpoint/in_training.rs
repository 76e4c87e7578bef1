//! Messages about the checkpoints of a run that may still be training, for commands that use its agent.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::file_name::sort_key;
use super::manifest::Manifest;
use super::{CONFIG, lock};
use crate::config::{self, CheckpointSettings, Config};
use crate::enclosure;
use crate::files::limit;
use crate::output::{counted, quoted};
use crate::quantity::count;

/// Returns a sentence about the update and the age of `checkpoint`, which was chosen from the run `run_dir`, if the run
/// is in training. Returns nothing if `run_dir` is the checkpoint itself.
pub(crate) fn age_in_training(run_dir: &Path, checkpoint: &Path) -> Option<String> {
    if run_dir == checkpoint || !lock::is_locked(run_dir) {
        return None;
    }
    let (updates, _) = sort_key(checkpoint)?;
    let written = fs::metadata(checkpoint.join(Manifest::FILE)).ok()?.modified().ok()?;
    // The clock of a file server may be ahead.
    let age = SystemTime::now().duration_since(written).unwrap_or_default();
    Some(format!(
        "the run {} is training: checkpoint of update {updates}, {} old",
        run_dir.display(),
        in_words(age)
    ))
}

/// Returns a duration in its largest unit that is not too coarse: `40 seconds`, `119 seconds`, `2 minutes`.
fn in_words(age: Duration) -> String {
    let seconds = age.as_secs();
    let (size, unit) = [(86_400, "day"), (3600, "hour"), (60, "minute"), (1, "second")]
        .into_iter()
        .find(|&(size, _)| seconds >= 2 * size)
        .unwrap_or((1, "second"));
    counted((seconds / size) as usize, unit)
}

/// Returns an error about a run without checkpoints: when it writes the first one, or how to continue it.
pub(super) fn without_checkpoint(run_dir: &Path) -> String {
    let (run, command) = (run_dir.display(), quoted(run_dir));
    if !lock::may_be_locked(run_dir) {
        return format!(
            "the run {run} stopped before its first checkpoint; `ale-train resume {command}` starts it from the beginning"
        );
    }
    let first = settings(run_dir).map_or_else(|| "later".to_owned(), |settings| first(&settings));
    // A file system without locks does not tell.
    let condition = if lock::is_locked(run_dir) { "" } else { "if it is training, " };
    format!("the run {run} has no checkpoint yet; {condition}it writes the first one {first}")
}

fn settings(run_dir: &Path) -> Option<CheckpointSettings> {
    let text = enclosure::read_text(run_dir, &run_dir.join(CONFIG), limit::EXPERIMENT).ok()?;
    Some(config::from_toml(&text).and_then(Config::resolve).ok()?.checkpoints)
}

/// Returns the time of the first checkpoint of a run.
fn first(settings: &CheckpointSettings) -> String {
    if settings.interval_minutes > 0.0 {
        return "when its training begins, in a few seconds".to_owned();
    }
    let planned = match settings.interval_frames {
        0 => "at its end".to_owned(),
        frames => format!("after {} frames", count(frames)),
    };
    format!("{planned}, or when `ale-train checkpoint` requests it")
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::super::{Checkpoint, Progress, create_run, store};
    use super::*;
    use crate::telemetry::Moment;

    #[test]
    fn ages_have_one_unit() {
        let words =
            [0, 1, 40, 119, 120, 7199, 7200, 200_000].map(|seconds| in_words(Duration::from_secs(seconds)));
        let expected = [
            "0 seconds",
            "1 second",
            "40 seconds",
            "119 seconds",
            "2 minutes",
            "119 minutes",
            "2 hours",
            "2 days",
        ];
        assert_eq!(words, expected);
    }

    #[test]
    fn only_a_run_in_training_has_the_age_of_its_checkpoint() {
        let run = TempDir::new().unwrap();
        let checkpoint = Checkpoint {
            config: String::new(),
            progress: Progress { moment: Moment { updates: 12, ..Moment::default() }, ..Progress::default() },
            learner: vec![1],
            environments: vec![2],
        };
        let saved = store::save(run.path(), &checkpoint).unwrap();
        assert_eq!(age_in_training(run.path(), &saved), None);
        let _lock = lock::acquire(run.path()).unwrap();
        let manifest = fs::File::options().write(true).open(saved.join(Manifest::FILE)).unwrap();
        manifest.set_modified(SystemTime::now() - Duration::from_mins(5)).unwrap();
        let said = age_in_training(run.path(), &saved).unwrap();
        assert!(said.ends_with(" is training: checkpoint of update 12, 5 minutes old"), "{said}");
        assert_eq!(age_in_training(&saved, &saved), None, "its path names it already");
        manifest.set_modified(SystemTime::now() + Duration::from_mins(5)).unwrap();
        let said = age_in_training(run.path(), &saved).unwrap();
        assert!(said.ends_with(", 0 seconds old"), "{said}");
    }

    #[test]
    fn a_run_without_a_checkpoint_says_when_it_writes_the_first_one() {
        let run = TempDir::new().unwrap();
        create_run(run.path(), "[checkpoints]\ninterval_minutes = 0\ninterval_frames = 20000\n", "{}")
            .unwrap();
        let latest = || store::latest(run.path()).unwrap_err().to_string();
        assert!(latest().contains("stopped before its first checkpoint; `ale-train resume "), "{}", latest());
        let _lock = lock::acquire(run.path()).unwrap();
        let expected = "writes the first one after 20k frames, or when `ale-train checkpoint` requests it";
        assert!(latest().ends_with(expected), "{}", latest());
        let by_minutes =
            CheckpointSettings { interval_minutes: 10.0, interval_frames: 0, ..Default::default() };
        assert_eq!(first(&by_minutes), "when its training begins, in a few seconds");
        let at_end = CheckpointSettings { interval_minutes: 0.0, ..by_minutes };
        assert!(first(&at_end).starts_with("at its end, or when"));
    }
}
