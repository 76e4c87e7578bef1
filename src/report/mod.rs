//! `ale-train report`: what runs have come to, as one HTML page or as a picture of their curves.

mod chart;
mod page;
mod reference;
mod runs;
mod statistics;

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;

use anyhow::{Context, Result};

use crate::canvas::PlotFile;
use crate::cli::ReportArgs;

use chart::{Chart, Figure};
use runs::Group;
pub(crate) use runs::RunHistory;
pub(crate) use statistics::{interquartile_mean, mean, median};

/// Reads the runs and writes the page, or the picture where the file's name asks for one.
pub(crate) fn run(args: &ReportArgs, out: &mut impl Write) -> Result<()> {
    let runs = args.runs.iter().map(|run| RunHistory::read(run)).collect::<Result<Vec<_>>>()?;
    let count = runs.len();
    let groups = runs::grouped(runs)?;
    if PlotFile::is_named_by(&args.out) {
        let labels = groups.iter().map(|group| group.label.as_str()).collect();
        PlotFile::new(&args.out)?.draw(&Figure { charts: charts(&groups), labels })?;
    } else {
        fs::write(&args.out, page::html(&groups)?)
            .with_context(|| format!("cannot write {}", args.out.display()))?;
    }
    writeln!(out, "{count} run{} in {}", if count == 1 { "" } else { "s" }, args.out.display())?;
    Ok(())
}

/// What the groups have played, in order.
fn games(groups: &[Group]) -> BTreeSet<&str> {
    let runs = groups.iter().flat_map(|group| &group.runs);
    runs.flat_map(|run| run.games.keys().map(String::as_str)).collect()
}

/// A diagram for each game that has curves.
fn charts(groups: &[Group]) -> Vec<Chart<'_>> {
    let chart = |game| Chart { game, curves: groups.iter().map(|group| group.curve(game)).collect() };
    let charts = games(groups).into_iter().map(chart);
    charts.filter(|chart| chart.curves.iter().any(|curve| !curve.is_empty())).collect()
}
