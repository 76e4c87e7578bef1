use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crossterm::terminal;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::heartbeat::Heartbeat;
use super::printer::Printer;
use super::progress::{Extent, Progress};
use super::record::{Moment, Record};
use super::sink::Sink;
use crate::output::{notice, notice_lines};

/// The interval between lines outside a terminal.
const LINE_INTERVAL: Duration = Duration::from_secs(10);
/// The time of the first line outside a terminal, unless a record comes earlier.
const FIRST_LINE: Duration = Duration::from_secs(2);
/// The interval between tables of games outside a terminal.
const TABLE_INTERVAL: Duration = Duration::from_mins(5);
/// The interval between updates on a terminal.
const BAR_INTERVAL: Duration = Duration::from_millis(200);
/// The number of lines of a terminal that the table of games leaves for messages and the bar.
const RESERVED_LINES: usize = 6;

/// The progress of a run. A terminal that can draw it shows a bar, with a table of the games if the terminal is tall
/// enough. Elsewhere there is a line every ten seconds. A thread redraws it, so that it keeps moving during long
/// updates and evaluations.
pub(crate) struct ProgressLine {
    status: Status,
    /// Stopped before the line is cleared.
    heartbeat: Option<Heartbeat>,
}

/// A handle by which any part of a run reports what it is doing.
#[derive(Clone)]
pub(crate) struct Status(Arc<Mutex<Display>>);

struct Display {
    printer: Printer,
    progress: Progress,
    /// True if the table of games is shown even if it does not fit, and outside a terminal.
    per_game: bool,
    created: Instant,
    last_line: Option<Instant>,
    last_table: Instant,
    layout: Layout,
}

/// The parts of the bar on a terminal.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Layout {
    /// The width of the bar itself; 0 without one.
    bar: usize,
    /// True if a table of games is below it.
    has_table: bool,
}

impl Layout {
    /// Returns the layout for a terminal with a number of columns.
    fn new(columns: usize, has_bar: bool, has_table: bool) -> Self {
        let bar = if columns < 100 { 10 } else { 24 };
        Self { bar: if has_bar { bar } else { 0 }, has_table }
    }

    /// Returns the number of columns left for the line.
    fn left(self, columns: usize) -> usize {
        // The bar is followed by the percentage.
        columns.saturating_sub(if self.bar > 0 { self.bar + " 100% ".len() } else { 0 })
    }

    fn style(self) -> ProgressStyle {
        let bar = match self.bar {
            0 => String::new(),
            width => format!("{{bar:{width}.cyan/dim}} {{percent:>3}}% "),
        };
        let table = if self.has_table { "\n{prefix}" } else { "" };
        ProgressStyle::with_template(&format!("{bar}{{wide_msg}}{table}"))
            .expect("the template is well-formed")
    }
}

/// Returns the number of columns of the terminal.
fn columns() -> usize {
    terminal::size().map_or(80, |(width, _)| usize::from(width))
}

impl ProgressLine {
    /// Shows the progress of a run. With `per_game`, the table of games is shown outside a terminal too.
    pub(crate) fn new(printer: Printer, extent: Extent, per_game: bool) -> Self {
        let layout = Layout::new(columns(), extent.total_frames > 0, false);
        if let Printer::Bar(bar) = &printer {
            bar.set_length(extent.total_frames);
            bar.set_position(extent.beginning.frames);
            bar.set_style(layout.style());
            bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        let period = match printer {
            Printer::Silent | Printer::Quiet => None,
            Printer::Plain => Some(Duration::from_secs(1)),
            Printer::Bar(_) => Some(BAR_INTERVAL),
        };
        let now = Instant::now();
        let status = Status(Arc::new(Mutex::new(Display {
            printer,
            progress: Progress::new(extent),
            per_game,
            created: now,
            last_line: None,
            last_table: now,
            layout,
        })));
        let shown = status.clone();
        let heartbeat = period.map(|period| Heartbeat::start(period, move || shown.lock().beat()));
        Self { status, heartbeat }
    }

    /// Shows the activity of a command that does not train.
    pub(crate) fn of_activity(printer: Printer) -> Self {
        Self::new(printer, Extent::default(), false)
    }

    /// Returns the printer for messages above the progress line.
    pub(crate) fn printer(&self) -> Printer {
        self.status.lock().printer.clone()
    }

    /// Returns a handle by which parts of the run report what they are doing.
    pub(crate) fn status(&self) -> Status {
        self.status.clone()
    }
}

impl Status {
    /// Counts steps between two records.
    pub(crate) fn advance(&self, moment: Moment) {
        self.lock().progress.advance(moment);
    }

    /// Shows an activity that interrupts training, until [`resume_training`](Self::resume_training).
    pub(crate) fn show_activity(&self, activity: String) {
        self.lock().progress.set_activity(Some(activity));
    }

    /// Shows the progress of training again.
    pub(crate) fn resume_training(&self) {
        self.lock().progress.set_activity(None);
    }

    fn lock(&self) -> MutexGuard<'_, Display> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Display {
    /// Draws if it is time to. Called by the heartbeat.
    fn beat(&mut self) {
        let is_due = match self.last_line {
            Some(last) => last.elapsed() >= LINE_INTERVAL,
            None => self.created.elapsed() >= FIRST_LINE,
        };
        self.draw(is_due);
    }

    /// Draws on a terminal, or prints a line elsewhere if one is due.
    fn draw(&mut self, is_line_due: bool) {
        match self.printer.clone() {
            Printer::Bar(bar) => self.draw_bar(&bar),
            Printer::Plain if is_line_due => self.print(),
            Printer::Silent | Printer::Quiet | Printer::Plain => {}
        }
    }

    fn print(&mut self) {
        if self.progress.is_idle() {
            return;
        }
        notice(self.progress.line());
        self.last_line = Some(Instant::now());
        if self.per_game && self.last_table.elapsed() >= TABLE_INTERVAL {
            let width = 90;
            if let Some(height) = self.progress.table_height(width) {
                notice_lines(self.progress.table(width, height));
            }
            self.last_table = Instant::now();
        }
    }

    fn draw_bar(&mut self, bar: &ProgressBar) {
        bar.set_position(self.progress.frames());
        let table = self.table_on_terminal();
        let columns = columns();
        let layout = Layout::new(columns, self.progress.total_frames() > 0, table.is_some());
        if layout != self.layout {
            self.layout = layout;
            bar.set_style(layout.style());
        }
        bar.set_prefix(table.unwrap_or_default());
        let line = || self.progress.line_within(layout.left(columns));
        bar.set_message(if self.progress.is_idle() { String::new() } else { line() });
    }

    /// Returns the table of games if it fits the terminal or was requested.
    fn table_on_terminal(&self) -> Option<String> {
        let (width, height) = terminal::size().ok()?;
        // A line as wide as the terminal would wrap on some terminals.
        let width = usize::from(width).saturating_sub(1);
        let free = usize::from(height).checked_sub(RESERVED_LINES).filter(|&free| free > 1)?;
        let wanted = self.progress.table_height(width)?;
        (wanted <= free || self.per_game).then(|| self.progress.table(width, free))
    }
}

impl Sink for ProgressLine {
    fn name(&self) -> &'static str {
        "the progress line"
    }

    fn record(&mut self, record: &Record) -> io::Result<()> {
        let mut display = self.status.lock();
        display.progress.record(record);
        // A short run also prints one line.
        if display.last_line.is_none() && matches!(display.printer, Printer::Plain) {
            display.draw(true);
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        drop(self.heartbeat.take());
        if let Printer::Bar(bar) = &self.status.lock().printer {
            bar.finish_and_clear();
        }
    }
}
