//! Metrics of a running training, and the files and streams that receive them.
//!
//! The training loop produces [`Record`]s; every [`Sink`] writes them in its format. The x axis is [`Moment::steps`], agent
//! decisions over all environments, like CleanRL's `global_step`; records also hold the emulated frames.

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

/// The name of the JSON Lines file of a run.
pub(crate) const METRICS_FILE: &str = JsonLines::FILE;

/// The length of each telemetry file at a checkpoint. A resumed run truncates the files to these lengths, which discards
/// records of the lost part of the run.
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
    /// Opens the files of `run_dir`, truncated to `positions`. With `json`, records also go to standard output.
    pub(crate) fn open(
        run_dir: &Path,
        positions: &FilePositions,
        progress_line: ProgressLine,
        json: bool,
    ) -> Result<Self> {
        let context = || format!("cannot write telemetry to {}", run_dir.display());
        let tensorboard =
            TensorBoard::open(run_dir, positions.of(TensorBoard::FILE)).with_context(context)?;
        let json_lines = JsonLines::open(run_dir, positions.of(JsonLines::FILE)).with_context(context)?;
        let printer = progress_line.printer().clone();
        let mut sinks: Vec<Box<dyn Sink>> =
            vec![Box::new(tensorboard), Box::new(json_lines), Box::new(progress_line)];
        if json {
            sinks.push(Box::new(JsonStdout));
        }
        Ok(Self { sinks, printer })
    }

    /// Passes a record to every sink. A sink that fails, for example on a full disk, is dropped with a warning: losing
    /// curves must not stop a run.
    pub(crate) fn record(&mut self, record: &Record) {
        self.each(|sink| sink.record(record));
    }

    /// Passes media to every sink that supports them.
    pub(crate) fn show(&mut self, moment: &Moment, media: &Media) {
        self.each(|sink| sink.show(moment, media));
    }

    /// Makes everything recorded so far visible to other programs.
    pub(crate) fn flush(&mut self) {
        self.each(|sink| sink.flush());
    }

    /// Syncs the files to disk. Returns their lengths.
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
                printer.warn(&format!("{} is incomplete from here on: {error}", sink.name()));
                false
            }
        });
    }
}
