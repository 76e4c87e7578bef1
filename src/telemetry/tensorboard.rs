use std::io::{self, Write};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use protobuf::Message;
use tensorboard_proto::event::Event;
use tensorboard_rs::record_writer::RecordWriter;
use tensorboard_rs::summary::scalar;

use super::file::GrowingFile;
use super::{Record, Sink};

/// A TensorBoard event file.
///
/// tensorboard-rs makes the records, but not the file: its own writer takes a new name each time and ends the program
/// when the disk is full.
pub(super) struct TensorBoard {
    file: GrowingFile,
}

impl TensorBoard {
    /// TensorBoard reads every file with `tfevents` in its name.
    pub(super) const FILE: &str = "events.out.tfevents.ale-train";

    pub(super) fn open(run_dir: &Path, length: u64) -> io::Result<Self> {
        let mut tensorboard = Self { file: GrowingFile::open(&run_dir.join(Self::FILE), length)? };
        if tensorboard.file.length() == 0 {
            let mut event = Event::new();
            event.set_file_version("brain.Event:2".to_owned());
            tensorboard.write(event)?;
        }
        Ok(tensorboard)
    }

    fn write(&mut self, mut event: Event) -> io::Result<()> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        event.set_wall_time(now.as_secs_f64());
        let bytes = event.write_to_bytes().map_err(io::Error::other)?;
        RecordWriter::new(&mut self.file).write(&bytes)
    }
}

impl Sink for TensorBoard {
    fn name(&self) -> &'static str {
        "the TensorBoard file"
    }

    fn record(&mut self, record: &Record) -> io::Result<()> {
        record.samples.iter().try_for_each(|sample| {
            let mut event = Event::new();
            event.set_step(record.moment.steps as i64);
            event.set_summary(scalar(&sample.tag(), sample.value as f32));
            self.write(event)
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync()
    }

    fn position(&self) -> Option<(&'static str, u64)> {
        Some((Self::FILE, self.file.length()))
    }
}
