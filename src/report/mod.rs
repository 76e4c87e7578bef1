//! `ale-train report`: the results of runs as an HTML page, or their learning curves as a plot.

mod aggregate;
mod axis;
mod chart;
mod curve;
mod diagnostics;
mod group;
mod groups;
mod html;
mod inputs;
mod labels;
mod page;
mod published_scores;
mod report_format;
mod runs;
mod score_table;
#[cfg(test)]
mod testing;

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::cli::{Global, ReportArgs};
use crate::durable;
use crate::plot::PlotFile;
use crate::telemetry::Printer;

use chart::Figure;
use report_format::{FORMATS, Format};
pub(crate) use runs::RunHistory;
use score_table::ScoreTable;

/// Returns the page of these runs.
pub(crate) fn page(run_dirs: &[PathBuf]) -> Result<String> {
    let runs = run_dirs.iter().map(|run_dir| RunHistory::read(run_dir)).collect::<Result<Vec<_>>>()?;
    page::html(&groups::parts(runs))
}

/// Draws the learning curves of a run to a file. Returns false, and writes nothing, if it has none.
pub(crate) fn curves(run_dir: &Path, file: &Path) -> Result<bool> {
    let groups = groups::grouped(vec![RunHistory::read(run_dir)?]);
    if chart::returns(&groups).is_empty() {
        return Ok(false);
    }
    PlotFile::new(file)?.draw(&Figure::new(&groups))?;
    Ok(true)
}

/// Reads the runs and writes the page or the plot.
pub(crate) fn run(args: &ReportArgs, global: &Global, out: &mut impl Write) -> Result<()> {
    let format = FORMATS.choose(&args.out)?;
    let printer = Printer::new(global.quiet);
    let runs = inputs::read(&args.runs, |note| printer.say(note), |warning| printer.warn(warning))?;
    let count = runs.len();
    match format {
        Format::Html => write(args, &page::html(&groups::parts(runs))?)?,
        Format::Markdown => write(args, &ScoreTable::of(&groups::grouped(runs)).markdown())?,
        Format::Csv => write(args, &ScoreTable::of(&groups::grouped(runs)).csv())?,
        Format::Json => write(args, &ScoreTable::of(&groups::grouped(runs)).json()?)?,
        Format::Plot => PlotFile::new(&args.out)?.draw(&Figure::new(&groups::grouped(runs)))?,
    }
    writeln!(out, "{count} run{} in {}", if count == 1 { "" } else { "s" }, args.out.display())?;
    Ok(())
}

fn write(args: &ReportArgs, text: &str) -> Result<()> {
    durable::write(&args.out, text.as_bytes())
}
