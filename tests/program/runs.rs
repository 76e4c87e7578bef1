//! Runs: their files, and their processes while they train.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::succeed;

/// Returns the complete checkpoints of a run, from the oldest to the newest.
pub(crate) fn checkpoints(run: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(run.join("checkpoints")) else { return Vec::new() };
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let is_complete =
        |path: &PathBuf| path.file_name().is_some_and(|name| !name.as_encoded_bytes().starts_with(b"."));
    let mut paths: Vec<PathBuf> = paths.filter(is_complete).collect();
    paths.sort();
    paths
}

/// Returns the result of a run: the learner and the environments of its newest checkpoint, and the curves without
/// measured times.
pub(crate) fn outcome(run: &Path) -> (Vec<u8>, Vec<u8>, Vec<Value>) {
    let newest = checkpoints(run).pop().expect("a checkpoint");
    let read = |name: &str| fs::read(newest.join(name)).expect("a file of the checkpoint");
    (read("learner.bin"), read("environments.bin"), curves(run))
}

/// Returns the records of the curves without measured times.
pub(crate) fn curves(run: &Path) -> Vec<Value> {
    let text = fs::read_to_string(run.join("metrics.jsonl")).expect("curves");
    let mut records: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("a record")).collect();
    for record in &mut records {
        let record = record.as_object_mut().expect("an object");
        record.retain(|tag, _| tag != "seconds" && tag != "charts/SPS" && !tag.starts_with("time/"));
    }
    records
}

/// Waits until `happened` returns true. Fails if the process ends before, or after two minutes.
pub(crate) fn wait_for(process: &mut Child, event: &str, happened: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_mins(2);
    while !happened() {
        assert!(Instant::now() < deadline, "no {event} in two minutes");
        assert!(
            process.try_wait().expect("a process").is_none(),
            "the process ended before {event}: make it longer"
        );
        std::thread::sleep(Duration::from_millis(2));
    }
}

pub(crate) fn signal(process: u32, name: &str) {
    succeed(Command::new("kill").args([name, &process.to_string()]));
}

/// Copies the directory of a run.
pub(crate) fn copy(from: &Path, to: &Path) {
    succeed(Command::new("cp").arg("-r").args([from, to]));
}
