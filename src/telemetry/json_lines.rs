use std::io::{self, Write};
use std::path::Path;

use serde_json::{Map, Value, json};

use super::file::GrowingFile;
use super::{Record, Sink};

/// The same numbers as in TensorBoard, one JSON object a record, or more where a tag occurs twice:
/// `{"updates":1,"steps":128,"frames":512,"seconds":0.5,"charts/SPS":256.0}`.
pub(super) struct JsonLines {
    file: GrowingFile,
}

impl JsonLines {
    pub(super) const FILE: &str = "metrics.jsonl";

    pub(super) fn open(run_dir: &Path, length: u64) -> io::Result<Self> {
        GrowingFile::open(&run_dir.join(Self::FILE), length).map(|file| Self { file })
    }

    fn write(&mut self, object: &Map<String, Value>) -> io::Result<()> {
        serde_json::to_writer(&mut self.file, object)?;
        self.file.write_all(b"\n")
    }
}

impl Sink for JsonLines {
    fn name(&self) -> &'static str {
        Self::FILE
    }

    fn record(&mut self, record: &Record) -> io::Result<()> {
        let moment = serde_json::to_value(record.moment)?.as_object().cloned().unwrap_or_default();
        let mut object = moment.clone();
        for sample in &record.samples {
            let tag = sample.tag();
            // Two episodes that end in the same step have the same tags.
            if object.contains_key(&tag) {
                self.write(&std::mem::replace(&mut object, moment.clone()))?;
            }
            // JSON has no infinities: they become null.
            object.insert(tag, json!(sample.value));
        }
        self.write(&object)
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
