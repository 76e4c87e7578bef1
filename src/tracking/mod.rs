//! `ale-train sync`: sends the curves of runs to Weights & Biases or `MLflow`.
//!
//! * `tracker` is the process that sends, a program in Python (`tracker.py`) that uses the package of the service.
//! * `description` says what a run is: its name, its settings and its provenance.
//!
//! Runs are only read.

mod description;
mod tracker;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Map, Value, json};

use crate::checkpoint::{self, CONFIG};
use crate::cli::{Global, SyncArgs};
use crate::failure::Interrupted;
use crate::interrupt::Interrupt;
use crate::runs::{self, GrowingCurves, NewRecords};
use crate::telemetry::{Printer, ProgressLine};

use tracker::Tracker;

/// The time between two looks at a run that is followed.
const LOOK: Duration = Duration::from_secs(1);
/// The number of records in a request, or a few more.
const RECORDS: usize = 100;

/// The result of a transfer.
struct Sent {
    run_dir: PathBuf,
    records: usize,
    /// The step of the last record.
    step: Option<u64>,
    /// Where the service shows the run.
    place: String,
}

/// Sends the runs one after the other.
pub(crate) fn run(args: &SyncArgs, global: &Global, out: &mut impl Write) -> Result<()> {
    let runs: Vec<PathBuf> = args.runs.iter().map(|path| run_at(path)).collect::<Result<_>>()?;
    ensure!(!args.follow || runs.len() == 1, "--follow takes one run, but {} are given", runs.len());
    let printer = Printer::new(global.quiet);
    let interrupt = Interrupt::on_first_signal(printer.clone(), "ending the transfer");
    let mut all_sent = Vec::new();
    for run_dir in runs {
        let progress_line = ProgressLine::of_activity(printer.clone());
        let sent = send(run_dir, args, &progress_line, &interrupt)?;
        drop(progress_line);
        if !args.json {
            writeln!(out, "{}: {} records sent, {}", sent.run_dir.display(), sent.records, sent.place)?;
        }
        all_sent.push(sent);
        if let Some(signal) = interrupt.signal() {
            return Err(Interrupted { signal, resume_command: None }.into());
        }
    }
    if args.json {
        let all_sent: Vec<Value> = all_sent.iter().map(Sent::json).collect();
        writeln!(out, "{}", serde_json::to_string_pretty(&all_sent)?)?;
    }
    Ok(())
}

impl Sent {
    fn json(&self) -> Value {
        json!({ "run": self.run_dir.to_string_lossy(), "records": self.records, "step": self.step, "place": self.place })
    }
}

fn run_at(path: &Path) -> Result<PathBuf> {
    ensure!(path.exists(), "{} does not exist", path.display());
    let run_dir = checkpoint::run_at(path)?;
    ensure!(run_dir.join(CONFIG).is_file(), "{} is not a run", run_dir.display());
    Ok(run_dir)
}

/// Sends the records that the service does not have, until there are no more or, if the run is followed, it ends.
fn send(
    run_dir: PathBuf,
    args: &SyncArgs,
    progress_line: &ProgressLine,
    interrupt: &Interrupt,
) -> Result<Sent> {
    let python = gymnasium_workers::interpreter(args.python.as_deref());
    let mut tracker = Tracker::start(&python)?;
    let status = progress_line.status();
    status.show_activity(format!("{}: opening", run_dir.display()));
    let mut known = tracker.open(&description::of_run(&run_dir, args)?)?;
    let mut curves = GrowingCurves::of(&run_dir);
    let (mut records, mut step) = (0, known);
    loop {
        // The order matters: a run writes its last records before it ends.
        let state = runs::state(&run_dir);
        let NewRecords { is_restart, records: new, has_more } =
            curves.read().with_context(|| format!("cannot read the curves of {}", run_dir.display()))?;
        // A resumed run repeats the records after its checkpoint.
        known = if is_restart { step } else { known };
        let new = later_than(known, new);
        let mut left = new.as_slice();
        while !left.is_empty() && !interrupt.is_requested() {
            let (chunk, others) = left.split_at(chunk_len(left));
            tracker.send(chunk)?;
            (records, step, left) = (records + chunk.len(), chunk.last().and_then(step_of), others);
            status.show_activity(format!("{}: {records} records", run_dir.display()));
        }
        let may_grow = args.follow && state == "running";
        if interrupt.is_requested() || !(has_more || may_grow) {
            let place = tracker.end(state)?;
            return Ok(Sent { run_dir, records, step, place });
        }
        if !has_more {
            thread::sleep(LOOK);
        }
    }
}

/// Returns the records after a step.
fn later_than(step: Option<u64>, mut records: Vec<Map<String, Value>>) -> Vec<Map<String, Value>> {
    records.retain(|record| step_of(record).is_some_and(|later| step.is_none_or(|step| later > step)));
    records
}

/// Returns the number of records of the next request, which has all records of its last step: a later transfer begins
/// after that step.
fn chunk_len(records: &[Map<String, Value>]) -> usize {
    let mut len = RECORDS.min(records.len());
    while len < records.len() && step_of(&records[len]) == step_of(&records[len - 1]) {
        len += 1;
    }
    len
}

fn step_of(record: &Map<String, Value>) -> Option<u64> {
    record.get("steps")?.as_u64()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(steps: impl IntoIterator<Item = u64>) -> Vec<Map<String, Value>> {
        let record = |step: u64| json!({ "steps": step }).as_object().expect("an object").clone();
        steps.into_iter().map(record).collect()
    }

    #[test]
    fn a_request_has_all_records_of_its_last_step() {
        assert_eq!(chunk_len(&records([1, 1, 2])), 3);
        assert_eq!(chunk_len(&records(0..200)), RECORDS);
        let steps = (0..RECORDS as u64).chain([RECORDS as u64 - 1; 2]).chain(200..210);
        assert_eq!(chunk_len(&records(steps)), RECORDS + 2);
    }

    #[test]
    fn records_that_the_service_has_are_not_sent_again() {
        assert_eq!(later_than(Some(2), records([1, 2, 3, 3])), records([3, 3]));
        assert_eq!(later_than(None, records([0, 1])), records([0, 1]));
    }
}
