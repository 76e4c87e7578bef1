use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::enclosure;
use crate::files;
use crate::telemetry::METRICS_FILE;

/// The number of bytes that are read at once.
const CHUNK: u64 = 8 << 20;
/// The number of bytes before the current position that are compared: a resumed run replaces what followed its
/// checkpoint.
const OVERLAP: usize = 256;

/// The records of a run, read as they are written.
#[derive(Debug)]
pub(crate) struct GrowingCurves {
    run_dir: PathBuf,
    path: PathBuf,
    /// The number of bytes of complete lines that have been read.
    position: u64,
    /// The bytes before that position, at most [`OVERLAP`].
    overlap: Vec<u8>,
}

/// New records.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct NewRecords {
    /// True if they replace all earlier ones.
    pub(crate) is_restart: bool,
    pub(crate) records: Vec<Map<String, Value>>,
    /// True if there are more already.
    pub(crate) has_more: bool,
}

impl GrowingCurves {
    pub(crate) fn of(run_dir: &Path) -> Self {
        let path = run_dir.join(METRICS_FILE);
        Self { run_dir: run_dir.to_owned(), path, position: 0, overlap: Vec::new() }
    }

    /// Reads the next complete lines. A run that has only just started has none.
    pub(crate) fn read(&mut self) -> io::Result<NewRecords> {
        match self.read_lines() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(NewRecords::default()),
            read => read,
        }
    }

    fn read_lines(&mut self) -> io::Result<NewRecords> {
        enclosure::check(&self.run_dir, &self.path)?;
        let mut file = files::open(&self.path)?;
        let is_restart = !self.continues(&mut file)?;
        if is_restart {
            (self.position, self.overlap) = (0, Vec::new());
            file.rewind()?;
        }
        let mut bytes = Vec::new();
        file.take(CHUNK).read_to_end(&mut bytes)?;
        let has_more = bytes.len() as u64 == CHUNK;
        // The last line may be incomplete.
        let end = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
        let lines = &bytes[..end];
        self.position += end as u64;
        self.overlap.extend_from_slice(&lines[end.saturating_sub(OVERLAP)..]);
        self.overlap.drain(..self.overlap.len().saturating_sub(OVERLAP));
        let records = lines.split(|&byte| byte == b'\n');
        let records = records.filter_map(|line| serde_json::from_slice(line).ok()).collect();
        Ok(NewRecords { is_restart, records, has_more: has_more && end > 0 })
    }

    /// Moves to the current position. Returns false if the file has other contents before it.
    fn continues(&self, file: &mut files::File) -> io::Result<bool> {
        file.seek(SeekFrom::Start(self.position - self.overlap.len() as u64))?;
        let mut before = Vec::new();
        file.take(self.overlap.len() as u64).read_to_end(&mut before)?;
        Ok(before == self.overlap)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;

    fn frames(new: &NewRecords) -> Vec<u64> {
        new.records.iter().map(|record| record["frames"].as_u64().unwrap()).collect()
    }

    #[test]
    fn lines_are_read_once_they_are_complete() {
        let temp = TempDir::new().unwrap();
        let mut curves = GrowingCurves::of(temp.path());
        assert_eq!(curves.read().unwrap(), NewRecords::default());
        let path = temp.path().join(METRICS_FILE);
        fs::write(&path, "{\"frames\":1}\n{\"frames\":2}\n{\"fra").unwrap();
        assert_eq!(frames(&curves.read().unwrap()), [1, 2]);
        assert_eq!(curves.read().unwrap(), NewRecords::default());
        fs::write(&path, "{\"frames\":1}\n{\"frames\":2}\n{\"frames\":3}\ndamaged\n{\"frames\":4}\n")
            .unwrap();
        let new = curves.read().unwrap();
        assert_eq!((frames(&new), new.is_restart), (vec![3, 4], false));
    }

    #[test]
    fn curves_that_a_resumed_run_replaces_are_read_again() {
        let temp = TempDir::new().unwrap();
        let path = temp.path().join(METRICS_FILE);
        let mut curves = GrowingCurves::of(temp.path());
        fs::write(&path, "{\"frames\":1}\n{\"frames\":2}\n").unwrap();
        curves.read().unwrap();
        for text in ["{\"frames\":1}\n", "{\"frames\":5}\n{\"frames\":9}\n{\"frames\":10}\n", ""] {
            fs::write(&path, text).unwrap();
            let new = curves.read().unwrap();
            assert!(new.is_restart, "{text}");
            assert_eq!(new.records.len(), text.lines().count());
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_that_lead_outside_are_not_read() {
        let temp = TempDir::new().unwrap();
        fs::write(temp.path().join("secret"), "{\"frames\":1}\n").unwrap();
        let run = temp.path().join("run");
        fs::create_dir(&run).unwrap();
        std::os::unix::fs::symlink("../secret", run.join(METRICS_FILE)).unwrap();
        assert!(GrowingCurves::of(&run).read().is_err());
    }
}
