//! What a run reports while it goes on, and where the reports go.
//!
//! The training loop makes a [`Record`] now and then; every [`Sink`] writes it in its own form. The x axis is
//! [`Moment::steps`], agent decisions over all environments, as CleanRL's `global_step`; emulated frames stand beside
//! it.

mod append_file;
mod json_lines;
mod media;
mod metric;
mod printer;
mod progress_line;
mod record;
mod sink;
mod tensorboard;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

pub(crate) use media::Media;
pub(crate) use metric::Metric;
pub(crate) use printer::Printer;
pub(crate) use progress_line::ProgressLine;
pub(crate) use record::{Moment, Record, Sample};

use json_lines::{JsonLines, JsonStdout};
use sink::Sink;
use tensorboard::TensorBoard;

/// The file of a run with every record as JSON.
pub(crate) const METRICS_FILE: &str = JsonLines::FILE;

/// How much of each telemetry file belongs to a checkpoint: what a later, lost part of the run wrote behind it is cut
/// off on resume.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct FilePositions(BTreeMap<String, u64>);

impl FilePositions {
    fn of(&self, file: &str) -> u64 {
        self.0.get(file).copied().unwrap_or(0)
    }
}

/// All sinks of a run.
pub(crate) struct Telemetry {
    sinks: Vec<Box<dyn Sink>>,
    printer: Printer,
}

impl Telemetry {
    /// Telemetry into the files of `run_dir`, cut to `positions`, to the progress line, and as JSON to standard output if that is
    /// asked for.
    pub(crate) fn open(
        run_dir: &Path,
        positions: &FilePositions,
        progress_line: ProgressLine,
        json: bool,
    ) -> Result<Self> {
        let in_folder = || format!("cannot write telemetry into {}", run_dir.display());
        let tensorboard =
            TensorBoard::open(run_dir, positions.of(TensorBoard::FILE)).with_context(in_folder)?;
        let json_lines = JsonLines::open(run_dir, positions.of(JsonLines::FILE)).with_context(in_folder)?;
        let printer = progress_line.printer().clone();
        let mut sinks: Vec<Box<dyn Sink>> =
            vec![Box::new(tensorboard), Box::new(json_lines), Box::new(progress_line)];
        if json {
            sinks.push(Box::new(JsonStdout));
        }
        Ok(Self { sinks, printer })
    }

    /// Gives a record to every sink. A sink that fails (a full disk) is left out from then on, with a warning: the run
    /// is worth more than its curves.
    pub(crate) fn record(&mut self, record: &Record) {
        self.each(|sink| sink.record(record));
    }

    /// Shows something to every sink that can show it.
    pub(crate) fn show(&mut self, moment: &Moment, media: &Media) {
        self.each(|sink| sink.show(moment, media));
    }

    /// Makes everything recorded so far visible to other programs.
    pub(crate) fn flush(&mut self) {
        self.each(|sink| sink.flush());
    }

    /// The lengths of the files, everything recorded so far included and on the disk.
    pub(crate) fn positions(&mut self) -> FilePositions {
        self.each(|sink| sink.sync());
        let positions = self.sinks.iter().filter_map(|sink| sink.position());
        FilePositions(positions.map(|(file, length)| (file.to_owned(), length)).collect())
    }

    fn each(&mut self, mut act: impl FnMut(&mut dyn Sink) -> io::Result<()>) {
        let printer = &self.printer;
        self.sinks.retain_mut(|sink| match act(sink.as_mut()) {
            Ok(()) => true,
            Err(error) => {
                printer.warn(&format!("{} ends here, since it cannot be written: {error}", sink.name()));
                false
            }
        });
    }
}
