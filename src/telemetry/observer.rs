//! A function of the process around the program that observes the records of a run.

use std::cell::RefCell;
use std::io;

use super::json_lines;
use super::record::Record;
use super::sink::Sink;

/// Receives each record as a line of `metrics.jsonl`.
pub type Observer = Box<dyn FnMut(&str) + Send>;

thread_local! {
    static OBSERVER: RefCell<Option<Observer>> = const { RefCell::new(None) };
}

/// Lets a function observe the records of the next run on this thread.
pub(crate) fn observe(observer: Observer) {
    OBSERVER.set(Some(observer));
}

/// Returns the sink of the function.
pub(super) fn sink() -> Option<Box<dyn Sink>> {
    Some(Box::new(Observed(OBSERVER.take()?)))
}

struct Observed(Observer);

impl Sink for Observed {
    fn name(&self) -> &'static str {
        "records to the observer"
    }

    fn record(&mut self, record: &Record) -> io::Result<()> {
        let mut lines = Vec::new();
        json_lines::write(record, &mut lines)?;
        String::from_utf8_lossy(&lines).lines().for_each(&mut self.0);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
