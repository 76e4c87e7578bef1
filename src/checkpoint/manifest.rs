use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

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

    pub(super) fn of(files: &[(&'static str, Vec<u8>)]) -> Self {
        let entry = |contents: &[u8]| Entry { bytes: contents.len() as u64, sha256: sha256(contents) };
        Self {
            format: Self::FORMAT,
            program: PROGRAM.to_owned(),
            files: files.iter().map(|(name, contents)| ((*name).to_owned(), entry(contents))).collect(),
        }
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

    pub(super) fn to_bytes(&self) -> Result<Vec<u8>> {
        Ok(serde_json::to_vec_pretty(self)?)
    }

    /// Fails unless every file in `directory` has the length that it was written with.
    pub(super) fn verify_lengths(&self, directory: &Path) -> Result<()> {
        for (file, entry) in &self.files {
            let found =
                fs::metadata(directory.join(file)).with_context(|| format!("{file} cannot be read"))?;
            let (bytes, expected) = (found.len(), entry.bytes);
            ensure!(bytes == expected, "{file} is damaged: it has {bytes} bytes, expected {expected}");
        }
        Ok(())
    }

    /// Fails unless `contents` are those of `file` when it was written.
    pub(super) fn verify(&self, file: &str, contents: &[u8]) -> Result<()> {
        let entry = self.files.get(file).with_context(|| format!("its manifest does not list {file}"))?;
        let (bytes, found) = (contents.len(), sha256(contents));
        ensure!(
            bytes as u64 == entry.bytes && found == entry.sha256,
            "{file} is damaged: it has {bytes} bytes and SHA-256 {found}, expected {} bytes and {}",
            entry.bytes,
            entry.sha256
        );
        Ok(())
    }
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut digits, byte| {
        // Writing to a string cannot fail.
        let _ = write!(digits, "{byte:02x}");
        digits
    })
}
