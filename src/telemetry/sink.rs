use std::io;

use super::media::Media;
use super::record::{Moment, Record};

/// A destination of records.
pub(crate) trait Sink {
    /// Returns the name of the sink for warnings.
    fn name(&self) -> &'static str;

    /// Writes a record. It may stay in memory until [`flush`](Self::flush).
    fn record(&mut self, record: &Record) -> io::Result<()>;

    /// Writes media, if the sink supports them.
    fn show(&mut self, _moment: &Moment, _media: &Media) -> io::Result<()> {
        Ok(())
    }

    /// Passes all records to the operating system.
    fn flush(&mut self) -> io::Result<()>;

    /// Syncs all records to the disk.
    fn sync(&mut self) -> io::Result<()> {
        self.flush()
    }

    /// Continues after an error, without the records since the last [`flush`](Self::flush).
    fn recover(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Creates the sink's file again after it was deleted.
    fn create_again(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Returns the name of the sink's file and its length up to the last flush, or `None` if it has no file.
    fn position(&self) -> Option<(&'static str, u64)> {
        None
    }
}
