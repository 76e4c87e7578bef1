//! `ale-train runs`: lists the runs below a directory.
//!
//! * `find` finds the directories of runs.
//! * `status` reads the state of a run: how far it has `reached`, its score from `curves` and its size from `disk`.
//! * `growing_curves` reads the curves of a run as it writes them.
//! * `listing` prints the states as a table or as JSON.

mod curves;
mod disk;
mod find;
mod growing_curves;
mod listing;
mod reached;
mod score;
mod status;

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::time::SystemTime;

use anyhow::{Result, ensure};
use serde_json::Value;

use crate::cli::RunsArgs;
pub(crate) use find::{is_run, runs_below};
pub(crate) use growing_curves::{GrowingCurves, NewRecords};
pub(crate) use reached::reached;
use status::RunStatus;

/// The default directory of runs.
pub(crate) const DIRECTORY: &str = "checkpoints";

/// Returns the runs below a directory, newest first.
fn newest_first(directory: &Path) -> Vec<RunStatus> {
    let mut runs: Vec<RunStatus> =
        find::runs_below(directory).iter().map(|run| RunStatus::read(run)).collect();
    runs.sort_by(|a, b| b.disk.changed.cmp(&a.disk.changed).then_with(|| a.path.cmp(&b.path)));
    runs
}

/// Returns the runs below a directory, newest first, as `ale-train runs --json` prints them.
pub(crate) fn described(directory: &Path) -> Vec<Value> {
    newest_first(directory).iter().map(listing::object).collect()
}

/// Returns the name of the state of a run, as `ale-train runs` prints it.
pub(crate) fn state(run_dir: &Path) -> &'static str {
    RunStatus::read(run_dir).state.name()
}

/// Prints the runs, newest first.
pub(crate) fn run(args: &RunsArgs, out: &mut impl Write) -> Result<()> {
    let directory = args.directory.as_deref().unwrap_or(Path::new(DIRECTORY));
    ensure!(args.directory.is_none() || directory.exists(), "{} does not exist", directory.display());
    ensure!(!directory.is_file(), "{} is not a directory", directory.display());
    let runs = newest_first(directory);
    if args.json {
        return listing::print_json(&runs, out);
    }
    if runs.is_empty() {
        writeln!(out, "no runs in {}; `ale-train ppo` starts one", directory.display())?;
        return Ok(());
    }
    // Names are cut to the width of a terminal, but a program that reads a pipe needs full names.
    let width =
        io::stdout().is_terminal().then(|| crossterm::terminal::size().map_or(80, |(columns, _)| columns));
    listing::print_table(&runs, directory, SystemTime::now(), width.map(usize::from), out)
}
