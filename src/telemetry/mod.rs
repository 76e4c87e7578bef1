//! Metrics of a run in progress, and the files and streams that receive them.
//!
//! The training loop produces [`Record`]s; every [`Sink`] writes them in its format. The x axis is [`Moment::steps`],
//! agent decisions over all environments, like CleanRL's `global_step`; records also hold the emulated frames.

mod append_file;
mod game_table;
mod heartbeat;
mod hparams;
mod json_lines;
mod media;
mod metric;
mod observer;
mod pace;
mod printer;
mod progress;
mod progress_line;
mod record;
mod sink;
mod tensorboard;
mod tensorboard_summary;
#[cfg(test)]
mod tests;
mod tracked_game;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

pub(crate) use hparams::{Hyperparameter, Session};
pub(crate) use media::Media;
pub(crate) use metric::Metric;
pub use observer::Observer;
pub(crate) use observer::observe;
pub(crate) use pace::Forecast;
pub(crate) use printer::Printer;
pub(crate) use progress::Extent;
pub(crate) use progress_line::{ProgressLine, Status};
pub(crate) use record::{Moment, Record, Sample};
pub(crate) use tracked_game::TrackedGame;

use json_lines::{JsonLines, JsonStdout};
use sink::Sink;
use tensorboard::TensorBoard;

/// The name of the JSON Lines file of a run.
pub(crate) const METRICS_FILE: &str = JsonLines::FILE;

/// The length of each telemetry file at a checkpoint. A resumed run truncates the files to these lengths, which
/// discards records of the lost part of the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct FilePositions(BTreeMap<String, u64>);

impl FilePositions {
    /// Returns the ends of the files, wherever they are.
    pub(crate) fn ends() -> Self {
        Self(Telemetry::FILES.iter().map(|&file| (file.to_owned(), u64::MAX)).collect())
    }

    fn length(&self, file: &str) -> u64 {
        self.0.get(file).copied().unwrap_or(0)
    }
}

/// All sinks of a run.
pub(crate) struct Telemetry {
    sinks: Vec<Output>,
    printer: Printer,
    status: Status,
}

/// A sink, which pauses after an error.
struct Output {
    sink: Box<dyn Sink>,
    pauses: bool,
}

impl Telemetry {
    /// The files in the directory of a run.
    pub(crate) const FILES: [&str; 2] = [JsonLines::FILE, TensorBoard::FILE];

    /// Opens the files of the run of these games in `run_dir`, truncated to `positions`. With `json`, records also go
    /// to standard output.
    pub(crate) fn open(
        run_dir: &Path,
        positions: &FilePositions,
        games: &[TrackedGame],
        progress_line: ProgressLine,
        json: bool,
    ) -> Result<Self> {
        let context = || format!("cannot write telemetry to {}", run_dir.display());
        let tensorboard =
            TensorBoard::open(run_dir, positions.length(TensorBoard::FILE), games).with_context(context)?;
        let json_lines = JsonLines::open(run_dir, positions.length(JsonLines::FILE)).with_context(context)?;
        let (printer, status) = (progress_line.printer(), progress_line.status());
        let mut sinks: Vec<Box<dyn Sink>> =
            vec![Box::new(tensorboard), Box::new(json_lines), Box::new(progress_line)];
        if json {
            sinks.push(Box::new(JsonStdout));
        }
        sinks.extend(observer::sink());
        let sinks = sinks.into_iter().map(|sink| Output { sink, pauses: false }).collect();
        Ok(Self { sinks, printer, status })
    }

    /// Returns a handle to the progress line.
    pub(crate) fn status(&self) -> &Status {
        &self.status
    }

    /// Passes a record to every sink. A sink that fails, for example on a full disk, pauses with a warning until the
    /// next checkpoint: losing curves must not stop a run.
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

    /// Syncs the files to disk, also those of sinks that paused. Returns their lengths.
    pub(crate) fn positions(&mut self) -> FilePositions {
        for Output { sink, pauses } in &mut self.sinks {
            if *pauses && sink.recover().is_ok() && sink.sync().is_ok() {
                *pauses = false;
                self.printer.say(&format!("{} continues", sink.name()));
            }
        }
        self.each(|sink| sink.sync());
        let positions = self.sinks.iter().filter_map(|output| output.sink.position());
        FilePositions(positions.map(|(file, length)| (file.to_owned(), length)).collect())
    }

    /// Creates the files again after they were deleted.
    pub(crate) fn create_again(&mut self) {
        self.each(|sink| sink.create_again());
    }

    fn each(&mut self, mut act: impl FnMut(&mut dyn Sink) -> io::Result<()>) {
        for Output { sink, pauses } in self.sinks.iter_mut().filter(|output| !output.pauses) {
            if let Err(error) = act(sink.as_mut()) {
                *pauses = true;
                self.printer.warn(&format!("cannot write {}: {error}; writing resumes at the next checkpoint, without the records in between",
                    sink.name()));
            }
        }
    }
}
