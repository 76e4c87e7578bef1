//! `ale-train checkpoint`: asks a run in training for a checkpoint and waits until it is written.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use serde_json::json;

use crate::checkpoint::{self, CONFIG};
use crate::cli::{Global, RequestArgs};
use crate::config::{self, Config};
use crate::failure::RuntimeFailure;
use crate::output::quoted;
use crate::quantity::clock;
use crate::telemetry::{Printer, ProgressLine};

/// The time between two looks at the run.
const PERIOD: Duration = Duration::from_millis(100);

/// Requests a checkpoint and prints its path.
pub(crate) fn run(args: &RequestArgs, global: &Global, out: &mut impl Write) -> Result<()> {
    ensure!(args.run_dir.exists(), "{} does not exist", args.run_dir.display());
    let run_dir = checkpoint::run_at(&args.run_dir)?;
    ensure!(run_dir.join(CONFIG).is_file(), "{} is not a run", run_dir.display());
    ensure!(
        checkpoint::may_be_locked(&run_dir),
        "no process of this machine is training the run {}; run this command on the machine that does, or continue the \
         run with `ale-train resume {}`",
        run_dir.display(),
        quoted(&run_dir)
    );
    let timeout = Duration::from_secs_f64(args.timeout);
    let progress_line = ProgressLine::of_activity(Printer::new(global.quiet));
    progress_line.status().show_activity("waiting for the run to end an update or an evaluation".to_owned());
    let written = request(&run_dir, timeout);
    // This erases the line from the terminal.
    drop(progress_line);
    print(&run_dir, &written?, args.json, out)
}

/// Requests a checkpoint of a run and returns its path. Returns the last checkpoint of a run that has completed its
/// training and evaluates its agent.
fn request(run_dir: &Path, timeout: Duration) -> Result<PathBuf> {
    let before = newest(run_dir);
    if let Some(last) = before.clone().filter(|_| is_complete(run_dir)) {
        return Ok(last);
    }
    let mut was_requested = checkpoint::request(run_dir)?;
    let began = Instant::now();
    let mut seen = before.clone();
    loop {
        if !checkpoint::is_requested(run_dir) {
            let written = newest(run_dir).filter(|newest| before.as_ref() != Some(newest));
            if written.is_some() || !was_requested {
                return written.ok_or_else(|| failed(run_dir));
            }
            // The run has answered the earlier request with a checkpoint that was already there, or failed to write it.
            checkpoint::request(run_dir)?;
            was_requested = false;
        }
        // The order matters: a run that ends writes its last checkpoint before it releases the lock.
        let is_training = checkpoint::may_be_locked(run_dir);
        let newest = newest(run_dir);
        if newest != seen && is_complete(run_dir) {
            checkpoint::withdraw_request(run_dir);
            return newest.context("a complete run has a checkpoint");
        }
        seen = newest;
        if !is_training {
            checkpoint::withdraw_request(run_dir);
            return Err(ended(run_dir, seen.as_deref())).context(RuntimeFailure("no checkpoint was written"));
        }
        if began.elapsed() >= timeout {
            return Err(late(run_dir, timeout)).context(RuntimeFailure("no checkpoint was written yet"));
        }
        thread::sleep(PERIOD);
    }
}

fn newest(run_dir: &Path) -> Option<PathBuf> {
    checkpoint::chosen(run_dir, false).ok()
}

/// Returns true if the newest checkpoint of a run is that of its complete training.
fn is_complete(run_dir: &Path) -> bool {
    // It cannot be read at the moment when the run removes old checkpoints.
    let Ok(Some(summary)) = checkpoint::summary_of_newest(run_dir) else { return false };
    let experiment = config::from_toml(&summary.config).and_then(Config::resolve);
    experiment.is_ok_and(|experiment| experiment.is_complete(&summary.progress.moment))
}

fn failed(run_dir: &Path) -> anyhow::Error {
    anyhow!("the run {} could not write it; its own output has the reason", run_dir.display())
        .context(RuntimeFailure("no checkpoint was written"))
}

fn ended(run_dir: &Path, last: Option<&Path>) -> anyhow::Error {
    let last = last.map_or_else(String::new, |last| format!("; its last one is {}", last.display()));
    anyhow!("the run {} ended before it answered{last}", run_dir.display())
}

fn late(run_dir: &Path, timeout: Duration) -> anyhow::Error {
    anyhow!(
        "the run {} did not answer within {}; it writes the checkpoint after its current update or evaluation, and a \
         longer --timeout waits for it",
        run_dir.display(),
        clock(timeout.as_secs_f64())
    )
}

fn print(run_dir: &Path, written: &Path, json: bool, out: &mut impl Write) -> Result<()> {
    if !json {
        writeln!(out, "{}", written.display())?;
        return Ok(());
    }
    let moment = checkpoint::summary(written)?.progress.moment;
    let report = json!({
        "run": run_dir.to_string_lossy(),
        "checkpoint": written.to_string_lossy(),
        "updates": moment.updates,
        "steps": moment.steps,
        "frames": moment.frames,
        "seconds": moment.seconds,
    });
    writeln!(out, "{}", serde_json::to_string_pretty(&report)?)?;
    Ok(())
}
