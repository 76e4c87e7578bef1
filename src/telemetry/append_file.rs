use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::enclosure;
use crate::files;

/// An append-only file. It recovers from errors and from being deleted.
pub(super) struct AppendFile {
    path: PathBuf,
    writer: BufWriter<File>,
    /// The length up to the last [`flush`](Write::flush), which is between two records.
    length: u64,
    /// The number of bytes written since then.
    pending: u64,
}

impl AppendFile {
    /// Opens or creates a file of a run and truncates it to `length` bytes. Fails if a symbolic link leads out of the
    /// run.
    pub(super) fn open(run_dir: &Path, name: &str, length: u64) -> io::Result<Self> {
        let path = run_dir.join(name);
        let opened = enclosure::check(run_dir, &path).and_then(|()| files::open_or_create(&path));
        let mut file = opened.map_err(|error| io::Error::new(error.kind(), format!("{name}: {error}")))?;
        let length = length.min(file.metadata()?.len());
        file.set_len(length)?;
        file.seek(SeekFrom::Start(length))?;
        Ok(Self { path, writer: BufWriter::new(file), length, pending: 0 })
    }

    /// Syncs everything written so far to the disk.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        self.flush()?;
        self.writer.get_ref().sync_data()
    }

    /// Returns the length of the file up to the last flush.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Continues after an error, and discards everything written since the last flush. Creates the file again if it was
    /// deleted.
    pub(super) fn recover(&mut self) -> io::Result<()> {
        let file = self.writer.get_ref().try_clone()?;
        self.continue_in(file)?;
        self.create_again()
    }

    /// Creates the file again if it was deleted, with its contents.
    pub(super) fn create_again(&mut self) -> io::Result<()> {
        self.flush()?;
        if self.path.exists() {
            return Ok(());
        }
        let mut contents = Vec::new();
        let deleted = self.writer.get_mut();
        deleted.seek(SeekFrom::Start(0))?;
        deleted.read_to_end(&mut contents)?;
        let mut file = File::create_new(&self.path)?;
        if let Err(error) = file.write_all(&contents) {
            // A truncated copy must not pass for the file, so that the next attempt copies again.
            let _ = fs::remove_file(&self.path);
            return Err(error);
        }
        self.continue_in(file)
    }

    fn continue_in(&mut self, mut file: File) -> io::Result<()> {
        file.set_len(self.length)?;
        file.seek(SeekFrom::Start(self.length))?;
        // Dropping the old writer would write its buffer.
        let _ = std::mem::replace(&mut self.writer, BufWriter::new(file)).into_parts();
        self.pending = 0;
        Ok(())
    }
}

impl Write for AppendFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.writer.write(bytes)?;
        self.pending += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()?;
        self.length += std::mem::take(&mut self.pending);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    #[test]
    fn continues_between_records_after_an_error_and_after_its_deletion() {
        let temp = TempDir::new().unwrap();
        let path = temp.path().join("curves");
        let mut file = AppendFile::open(temp.path(), "curves", 0).unwrap();
        file.write_all(b"one\n").unwrap();
        file.flush().unwrap();
        file.write_all(b"tw").unwrap();
        file.recover().unwrap();
        file.write_all(b"three\n").unwrap();
        assert_eq!(file.length(), 4);
        file.create_again().unwrap();
        if cfg!(unix) {
            fs::remove_file(&path).unwrap();
            file.create_again().unwrap();
            // Deleted after an error.
            file.write_all(b"lost").unwrap();
            fs::remove_file(&path).unwrap();
            file.recover().unwrap();
        }
        file.write_all(b"four\n").unwrap();
        file.sync().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "one\nthree\nfour\n");
        assert_eq!(file.length(), 15);
    }
}
