use std::io;

use super::media::Media;
use super::record::{Moment, Record};

/// Somewhere that records go.
pub(crate) trait Sink {
    /// How the sink is called in a warning.
    fn name(&self) -> &'static str;

    /// Takes a record. It may be kept in memory until [`flush`](Self::flush).
    fn record(&mut self, record: &Record) -> io::Result<()>;

    /// Takes something to look at, where the sink can show it.
    fn show(&mut self, _moment: &Moment, _media: &Media) -> io::Result<()> {
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
