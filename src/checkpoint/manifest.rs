use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::enclosure;
use crate::version::PROGRAM;

/// The list of the files of a checkpoint, with their hashes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Manifest {
    /// Version of the format of all files.
    format: u32,
    /// The program that wrote it.
    program: String,
    files: BTreeMap<String, Entry>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    bytes: u64,
    sha256: String,
}

impl Manifest {
    pub(super) const FILE: &str = "manifest.json";
    const FORMAT: u32 = 1;

    /// Creates a manifest without files.
    pub(super) fn new() -> Self {
        Self { format: Self::FORMAT, program: PROGRAM.to_owned(), files: BTreeMap::new() }
    }

    /// Creates a file, calls `write` to fill it, and adds it to the list.
    pub(super) fn write(
        &mut self,
        directory: &Path,
        name: &str,
        write: impl FnOnce(&mut dyn Write) -> Result<()>,
    ) -> Result<()> {
        let file = HashedFile {
            file: File::create_new(directory.join(name))?,
            sha256: Sha256::new(),
            bytes: 0,
            error: None,
        };
        let mut buffered = BufWriter::with_capacity(1 << 16, file);
        let written = write(&mut buffered).and_then(|()| Ok(buffered.flush()?));
        let (HashedFile { file, sha256, bytes, error }, _) = buffered.into_parts();
        // Encoders replace the writer's error with their own.
        error.map_or(Ok(()), Err)?;
        written?;
        file.sync_all()?;
        self.files.insert(name.to_owned(), Entry { bytes, sha256: hexadecimal(&sha256.finalize()) });
        Ok(())
    }

    /// Writes the manifest itself.
    pub(super) fn finish(&self, directory: &Path) -> Result<()> {
        let mut file = File::create_new(directory.join(Self::FILE))?;
        file.write_all(&serde_json::to_vec_pretty(self)?)?;
        Ok(file.sync_all()?)
    }

    pub(super) fn parse(bytes: &[u8]) -> Result<Self> {
        /// The fields that every future format will keep.
        #[derive(Deserialize)]
        struct Version {
            format: u32,
            program: String,
        }
        let Version { format, program } = serde_json::from_slice(bytes).context("its manifest is damaged")?;
        ensure!(
            format == Self::FORMAT,
            "it has format {format}, written by {program}; this program reads format {}",
            Self::FORMAT
        );
        serde_json::from_slice(bytes).context("its manifest is damaged")
    }

    /// Fails unless every file in `directory` has its recorded length. Links must not lead outside `root`.
    pub(super) fn verify_lengths(&self, directory: &Path, root: &Path) -> Result<()> {
        for (file, entry) in &self.files {
            let path = directory.join(file);
            let metadata = enclosure::check(root, &path).and_then(|()| fs::metadata(&path));
            let metadata = metadata.with_context(|| format!("{file} cannot be read"))?;
            let (bytes, expected) = (metadata.len(), entry.bytes);
            ensure!(bytes == expected, "{file} is damaged: it has {bytes} bytes, expected {expected}");
        }
        Ok(())
    }

    /// Fails unless `contents` match the recorded length and hash of `file`.
    pub(super) fn verify(&self, file: &str, contents: &[u8]) -> Result<()> {
        let entry = self.files.get(file).with_context(|| format!("its manifest does not list {file}"))?;
        let (bytes, hash) = (contents.len(), sha256(contents));
        ensure!(
            bytes as u64 == entry.bytes && hash == entry.sha256,
            "{file} is damaged: it has {bytes} bytes and SHA-256 {hash}, expected {} bytes and {}",
            entry.bytes,
            entry.sha256
        );
        Ok(())
    }
}

/// A file that is hashed while it is written.
struct HashedFile {
    file: File,
    sha256: Sha256,
    bytes: u64,
    /// The first error.
    error: Option<io::Error>,
}

impl Write for HashedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.file.write(bytes) {
            Ok(written) => {
                self.sha256.update(&bytes[..written]);
                self.bytes += written as u64;
                Ok(written)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            Err(error) => {
                let kind = error.kind();
                self.error.get_or_insert(error);
                Err(kind.into())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

fn sha256(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut digits, byte| {
        // Writing to a string cannot fail.
        let _ = fmt::Write::write_fmt(&mut digits, format_args!("{byte:02x}"));
        digits
    })
}
