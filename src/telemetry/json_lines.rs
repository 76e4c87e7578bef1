use std::io::{self, Write};
use std::path::Path;

use serde_json::{Map, Value, json};

use super::file::GrowingFile;
use super::{Record, Sink};

/// The same numbers as in TensorBoard, one JSON object a record:
/// `{"updates":1,"steps":128,"frames":512,"seconds":0.5,"charts/SPS":256.0}`.
pub(super) struct JsonLines {
    file: GrowingFile,
}

impl JsonLines {
    pub(super) const FILE: &str = "metrics.jsonl";

    pub(super) fn open(run_dir: &Path, length: u64) -> io::Result<Self> {
        GrowingFile::open(&run_dir.join(Self::FILE), length).map(|file| Self { file })
    }
}

impl Sink for JsonLines {
    fn name(&self) -> &'static str {
        Self::FILE
    }

    fn record(&mut self, record: &Record) -> io::Result<()> {
        let moment = serde_json::to_value(record.moment)?;
        let mut object: Map<String, Value> = moment.as_object().cloned().unwrap_or_default();
        // JSON has no infinities: they become null.
        object.extend(record.samples.iter().map(|sample| (sample.tag(), json!(sample.value))));
        serde_json::to_writer(&mut self.file, &object)?;
        self.file.write_all(b"\n")
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
