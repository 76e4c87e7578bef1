//! `ale-train report`: the results of runs as an HTML page, or their learning curves as a plot.

mod aggregate;
mod axis;
mod chart;
mod curve;
mod diagnostics;
mod group;
mod groups;
mod html;
mod improvement;
mod inputs;
mod labels;
mod page;
mod published_scores;
mod report_format;
#[cfg(test)]
mod rliable;
mod runs;
mod score_table;
#[cfg(test)]
mod testing;
mod videos;

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};

use crate::cli::{Global, ReportArgs};
use crate::durable;
use crate::output::counted;
use crate::plot::PlotFile;
use crate::telemetry::Printer;

use chart::Figure;
pub(crate) use page::content_security_policy;
use report_format::{FORMATS, Format};
pub(crate) use runs::RunHistory;
use score_table::ScoreTable;

/// Returns the page of these runs.
pub(crate) fn page(run_dirs: &[PathBuf]) -> Result<String> {
    let runs = run_dirs.iter().map(|run_dir| RunHistory::read(run_dir)).collect::<Result<Vec<_>>>()?;
    page::html(&groups::parts(runs), &[])
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

/// Reads the runs and writes the page, the plot or the scores.
pub(crate) fn run(args: &ReportArgs, global: &Global, out: &mut impl Write) -> Result<()> {
    let format =
        args.format.map_or_else(|| FORMATS.choose(&args.out), |format| Ok(Format::Scores(format)))?;
    ensure!(
        !args.videos || format == Format::Html,
        "--videos is possible only in a page: --out must end in .html"
    );
    let printer = Printer::new(global.quiet);
    let runs = inputs::read(&args.runs, |note| printer.say(note), |warning| printer.warn(warning))?;
    let count = counted(runs.len(), "run");
    match format {
        Format::Html => {
            let parts = groups::parts(runs);
            let warn = |warning: &str| printer.warn(warning);
            let videos = if args.videos { videos::record(&parts, global, warn)? } else { Vec::new() };
            durable::write(&args.out, page::html(&parts, &videos)?.as_bytes())?;
        }
        Format::Plot => PlotFile::new(&args.out)?.draw(&Figure::new(&groups::grouped(runs)))?,
        Format::Scores(format) => {
            let scores = ScoreTable::of(&groups::grouped(runs)).text(format)?;
            if args.format.is_some() {
                return Ok(out.write_all(scores.as_bytes())?);
            }
            durable::write(&args.out, scores.as_bytes())?;
        }
    }
    writeln!(out, "{count} in {}", args.out.display())?;
    Ok(())
}
