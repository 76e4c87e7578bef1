//! What a run reports while it goes on, and where the reports go.
//!
//! The training loop makes a [`Record`] now and then; every [`Sink`] writes it in its own form. The x axis is
//! [`Moment::steps`], agent decisions over all environments, as CleanRL's `global_step`; emulated frames stand beside
//! it.

mod console;
mod exhibit;
mod file;
mod json_lines;
mod metric;
mod tensorboard;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

pub(crate) use console::{Console, Printer};
pub(crate) use exhibit::Exhibit;
pub(crate) use metric::Metric;

use json_lines::{JsonLines, JsonOutput};
use tensorboard::TensorBoard;

/// The file of a run with every record as JSON.
pub(crate) const METRICS_FILE: &str = JsonLines::FILE;

/// A point in the course of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Moment {
    /// Updates of the learner.
    pub(crate) updates: u64,
    /// Steps (agent decisions) over all environments.
    pub(crate) steps: u64,
    /// Emulated frames over all environments.
    pub(crate) frames: u64,
    /// Seconds of training, those before a resume included.
    pub(crate) seconds: f64,
}

/// The value of a metric, for one task or for all.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sample {
    pub(crate) metric: Metric,
    pub(crate) task: Option<String>,
    pub(crate) value: f64,
}

impl Sample {
    pub(crate) fn new(metric: Metric, value: f64) -> Self {
        Self { metric, task: None, value }
    }

    pub(crate) fn of_task(metric: Metric, task: &str, value: f64) -> Self {
        Self { metric, task: Some(task.to_owned()), value }
    }

    pub(crate) fn tag(&self) -> String {
        self.metric.tag(self.task.as_deref())
    }
}

/// What is reported at one moment.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Record {
    pub(crate) moment: Moment,
    pub(crate) samples: Vec<Sample>,
}

/// Somewhere that records go.
pub(crate) trait Sink {
    /// How the sink is called in a warning.
    fn name(&self) -> &'static str;

    /// Takes a record. It may be kept in memory until [`flush`](Self::flush).
    fn record(&mut self, record: &Record) -> io::Result<()>;

    /// Takes something to look at, where the sink can show it.
    fn show(&mut self, _moment: &Moment, _exhibit: &Exhibit) -> io::Result<()> {
        Ok(())
    }

    /// Hands everything over to the operating system.
    fn flush(&mut self) -> io::Result<()>;

    /// Makes everything recorded so far safe from a crash of the machine.
    fn sync(&mut self) -> io::Result<()> {
        self.flush()
    }

    /// The sink's file, and how many bytes were written to it; `None` where it has none.
    fn position(&self) -> Option<(&'static str, u64)> {
        None
    }
}

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
    /// Telemetry into the files of `run_dir`, cut to `positions`, to the console, and as JSON to standard output if that is
    /// asked for.
    pub(crate) fn open(
        run_dir: &Path,
        positions: &FilePositions,
        console: Console,
        json: bool,
    ) -> Result<Self> {
        let in_folder = || format!("cannot write telemetry into {}", run_dir.display());
        let tensorboard =
            TensorBoard::open(run_dir, positions.of(TensorBoard::FILE)).with_context(in_folder)?;
        let json_lines = JsonLines::open(run_dir, positions.of(JsonLines::FILE)).with_context(in_folder)?;
        let printer = console.printer().clone();
        let mut sinks: Vec<Box<dyn Sink>> =
            vec![Box::new(tensorboard), Box::new(json_lines), Box::new(console)];
        if json {
            sinks.push(Box::new(JsonOutput));
        }
        Ok(Self { sinks, printer })
    }

    /// Gives a record to every sink. A sink that fails (a full disk) is left out from then on, with a warning: the run
    /// is worth more than its curves.
    pub(crate) fn record(&mut self, record: &Record) {
        self.each(|sink| sink.record(record));
    }

    /// Shows something to every sink that can show it.
    pub(crate) fn show(&mut self, moment: &Moment, exhibit: &Exhibit) {
        self.each(|sink| sink.show(moment, exhibit));
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
