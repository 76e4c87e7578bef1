use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::Path;

/// A file that is only appended to and tracks its length.
pub(super) struct AppendFile {
    writer: BufWriter<File>,
    length: u64,
}

impl AppendFile {
    /// Opens or creates a file and truncates it to `length` bytes.
    pub(super) fn open(path: &Path, length: u64) -> io::Result<Self> {
        let mut file = OpenOptions::new().create(true).truncate(false).write(true).open(path)?;
        let length = length.min(file.metadata()?.len());
        file.set_len(length)?;
        file.seek(SeekFrom::Start(length))?;
        Ok(Self { writer: BufWriter::new(file), length })
    }

    /// Makes everything written so far durable against a crash of the machine.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        self.writer.flush()?;
        self.writer.get_ref().sync_data()
    }

    /// Returns the length of the file, including buffered bytes.
    pub(super) fn length(&self) -> u64 {
        self.length
    }
}

impl Write for AppendFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.writer.write(bytes)?;
        self.length += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}
