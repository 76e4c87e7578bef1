use std::io::{self, Write};
use std::path::Path;

use serde_json::{Map, Value, json};

use super::append_file::AppendFile;
use super::record::Record;
use super::sink::Sink;

/// A file with the same values as the TensorBoard file.
pub(super) struct JsonLines {
    file: AppendFile,
}

impl JsonLines {
    pub(super) const FILE: &str = "metrics.jsonl";

    pub(super) fn open(run_dir: &Path, length: u64) -> io::Result<Self> {
        AppendFile::open(run_dir, Self::FILE, length).map(|file| Self { file })
    }
}

impl Sink for JsonLines {
    fn name(&self) -> &'static str {
        Self::FILE
    }

    fn record(&mut self, record: &Record) -> io::Result<()> {
        write(record, &mut self.file)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync()
    }

    fn recover(&mut self) -> io::Result<()> {
        self.file.recover()
    }

    fn create_again(&mut self) -> io::Result<()> {
        self.file.create_again()
    }

    fn position(&self) -> Option<(&'static str, u64)> {
        Some((Self::FILE, self.file.length()))
    }
}

/// The lines of [`JsonLines`] on standard output.
pub(super) struct JsonStdout;

impl Sink for JsonStdout {
    fn name(&self) -> &'static str {
        "standard output"
    }

    fn record(&mut self, record: &Record) -> io::Result<()> {
        write(record, &mut io::stdout().lock())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stdout().flush()
    }
}

/// Writes one JSON object per record, or several if a tag occurs repeatedly:
/// `{"updates":1,"steps":128,"frames":512,"seconds":0.5,"charts/SPS":256.0}`.
pub(super) fn write(record: &Record, out: &mut impl Write) -> io::Result<()> {
    let moment = serde_json::to_value(record.moment)?.as_object().cloned().unwrap_or_default();
    let mut object = moment.clone();
    for sample in &record.samples {
        let tag = sample.tag();
        // Two episodes that end in the same step have the same tags.
        if object.contains_key(&tag) {
            write_line(&std::mem::replace(&mut object, moment.clone()), out)?;
        }
        // JSON cannot represent NaN and infinities: they become null.
        object.insert(tag, json!(sample.value));
    }
    write_line(&object, out)
}

fn write_line(object: &Map<String, Value>, out: &mut impl Write) -> io::Result<()> {
    serde_json::to_writer(&mut *out, object)?;
    out.write_all(b"\n")
}
