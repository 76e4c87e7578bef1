use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant};

use indicatif::{ProgressDrawTarget, ProgressStyle};

use super::printer::Printer;
use super::record::{Moment, Record};
use super::sink::Sink;
use crate::output::notice;
use crate::quantity::{clock, short};

/// The interval between progress lines outside a terminal.
const PLAIN_INTERVAL: Duration = Duration::from_secs(10);
/// The largest number of values per game that fit the line.
const TASKS_IN_LINE: usize = 6;

/// The progress of a run: a bar on a terminal, a line every ten seconds elsewhere.
pub(crate) struct ProgressLine {
    printer: Printer,
    total_frames: u64,
    /// The name and the latest value of each tag on the line.
    latest: BTreeMap<String, (String, f64)>,
    last_line: Option<Instant>,
    start: Start,
}

/// The point where this process started or resumed the run, for the estimate of the remaining time.
#[derive(Clone, Copy)]
struct Start {
    at: Instant,
    frames: u64,
}

impl ProgressLine {
    /// Shows progress from `done_frames` to `total_frames`.
    pub(crate) fn new(printer: Printer, done_frames: u64, total_frames: u64) -> Self {
        if let Printer::Bar(bar) = &printer {
            let style = ProgressStyle::with_template("{bar:24.cyan/dim} {percent:>3}% {wide_msg}");
            bar.set_style(style.expect("the template is well-formed"));
            bar.set_length(total_frames);
            bar.set_position(done_frames);
            bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        let start = Start { at: Instant::now(), frames: done_frames };
        Self { printer, total_frames, latest: BTreeMap::new(), last_line: None, start }
    }

    /// The printer for messages above the progress line.
    pub(crate) fn printer(&self) -> &Printer {
        &self.printer
    }

    /// Returns, for example, `4.1M of 8.0M frames, 1:12 left, return 12.3, SPS 1234`.
    fn line(&self, moment: &Moment) -> String {
        let mut parts =
            vec![format!("{} of {} frames", short(moment.frames as f64), short(self.total_frames as f64))];
        if let Some(left) = self.seconds_left(moment.frames) {
            parts.push(format!("{} left", clock(left)));
        }
        let is_task = |tag: &str| tag.matches('/').count() > 1;
        let tasks = self.latest.keys().filter(|tag| is_task(tag)).count();
        let in_line = |tag: &str| tasks <= TASKS_IN_LINE || !is_task(tag);
        let values = self.latest.iter().filter(|(tag, _)| in_line(tag));
        parts.extend(values.map(|(_, (name, value))| format!("{name} {}", short(*value))));
        parts.join(", ")
    }

    fn seconds_left(&self, frames: u64) -> Option<f64> {
        let done = frames.checked_sub(self.start.frames).filter(|&done| done > 0)?;
        let left = self.total_frames.saturating_sub(frames);
        Some(self.start.at.elapsed().as_secs_f64() * left as f64 / done as f64)
    }
}

impl Sink for ProgressLine {
    fn name(&self) -> &'static str {
        "the progress line"
    }

    fn record(&mut self, record: &Record) -> io::Result<()> {
        for sample in &record.samples {
            if let Some(name) = sample.metric.short_name() {
                let name =
                    sample.task.as_ref().map_or_else(|| name.to_owned(), |task| format!("{name} {task}"));
                self.latest.insert(sample.tag(), (name, sample.value));
            }
        }
        match &self.printer {
            Printer::Quiet => {}
            Printer::Bar(bar) => {
                bar.set_position(record.moment.frames);
                bar.set_message(self.line(&record.moment));
            }
            Printer::Plain => {
                if self.last_line.is_none_or(|last| last.elapsed() >= PLAIN_INTERVAL) {
                    notice(self.line(&record.moment));
                    self.last_line = Some(Instant::now());
                }
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        if let Printer::Bar(bar) = &self.printer {
            bar.finish_and_clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::metric::Metric;
    use super::super::record::Sample;
    use super::*;

    #[test]
    fn shows_the_latest_values_of_each_game() {
        let mut progress = ProgressLine::new(Printer::Quiet, 0, 8_000_000);
        let moment = Moment { frames: 4_000_000, ..Moment::default() };
        let of = |task: &str, value| Sample::of_task(Metric::RecentReturn, task, value);
        for value in [1.0, 2.5] {
            let samples = vec![of("pong", value), of("breakout", 7.0), Sample::new(Metric::PolicyLoss, 1.0)];
            progress.record(&Record { moment, samples }).unwrap();
        }
        let line = progress.line(&moment);
        assert!(line.starts_with("4.00M of 8.00M frames, 0:00 left"), "{line}");
        assert!(line.ends_with("return breakout 7.0, return pong 2.5"), "{line}");
    }
}
