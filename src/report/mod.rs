//! `ale-train report`: what runs have come to, as one HTML page.

mod chart;
mod page;
mod runs;
mod statistics;

use std::fs;
use std::io::Write;

use anyhow::{Context, Result};

use crate::cli::ReportArgs;

pub(crate) use runs::RunHistory;
pub(crate) use statistics::mean;

/// Reads the runs and writes the page.
pub(crate) fn run(args: &ReportArgs, out: &mut impl Write) -> Result<()> {
    let runs = args.runs.iter().map(|run| RunHistory::read(run)).collect::<Result<Vec<_>>>()?;
    let count = runs.len();
    let page = page::html(&runs::grouped(runs)?)?;
    fs::write(&args.out, page).with_context(|| format!("cannot write {}", args.out.display()))?;
    writeln!(out, "{count} run{} in {}", if count == 1 { "" } else { "s" }, args.out.display())?;
    Ok(())
}
