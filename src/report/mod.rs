//! `ale-train report`: the results of runs as an HTML page, or their learning curves as a plot.

mod aggregate;
mod chart;
mod page;
mod reference;
mod runs;

use std::io::Write;

use anyhow::Result;

use crate::cli::ReportArgs;
use crate::durable;
use crate::plot::PlotFile;

use chart::Figure;
pub(crate) use runs::RunHistory;

/// Reads the runs and writes the page, or a plot if the file name ends in .svg or .png.
pub(crate) fn run(args: &ReportArgs, out: &mut impl Write) -> Result<()> {
    let runs = args.runs.iter().map(|run| RunHistory::read(run)).collect::<Result<Vec<_>>>()?;
    let count = runs.len();
    let groups = runs::grouped(runs)?;
    if PlotFile::is_named_by(&args.out) {
        let labels = groups.iter().map(|group| group.label.as_str()).collect();
        PlotFile::new(&args.out)?.draw(&Figure { charts: chart::charts(&groups), labels })?;
    } else {
        durable::write(&args.out, page::html(&groups)?.as_bytes())?;
    }
    writeln!(out, "{count} run{} in {}", if count == 1 { "" } else { "s" }, args.out.display())?;
    Ok(())
}
