use std::io;
use std::path::PathBuf;

use downloads::PipError;
use thiserror::Error;

use super::WHEEL;
use super::digest::Md5Sum;

/// The ways to get a missing ROM.
const WAYS: &str = "`ale-train roms fetch` downloads it, `ale-train roms import` copies your file, `pip install ale-py` or AutoROM provides it, and ALE_TRAIN_ROMS, --rom-dir and ALE_ROMS_DIR name other directories";

/// The ways to get a missing ROM that need no network.
const WAYS_WITHOUT_DOWNLOAD: &str = "`ale-train roms import` takes your own files, ALE_TRAIN_ROMS, --rom-dir and ALE_ROMS_DIR name a directory that has them as ID.bin, and those of an installed ale-py or AutoROM are found";

/// An error in finding, reading or importing ROM images. Each message is one sentence; most say how to proceed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RomError {
    /// The id is unknown.
    #[error("unknown game '{id}'{}", suggestion(.nearest))]
    Unknown {
        /// The given id.
        id: String,
        /// Similar known ids, the closest first.
        nearest: Vec<String>,
    },
    /// The image is known but missing from the store.
    #[error("the ROM of {id} is missing: {} does not exist; {WAYS}", path.display())]
    Missing {
        /// The game.
        id: String,
        /// The expected path of the image.
        path: PathBuf,
    },
    /// The file in the store is not the image of its game.
    #[error("the ROM of {id} is damaged: {} has MD5 {found}, expected {expected}; `ale-train roms fetch` or `ale-train roms import` replaces it", path.display())]
    Damaged {
        /// The game.
        id: String,
        /// The file.
        path: PathBuf,
        /// Its MD5.
        found: Md5Sum,
        /// The MD5 in the manifest.
        expected: Md5Sum,
    },
    /// A file or directory cannot be read.
    #[error("cannot read {}: {reason}", path.display())]
    Unreadable {
        /// The file or directory.
        path: PathBuf,
        /// The cause.
        reason: io::Error,
    },
    /// The directory of the store cannot be written.
    #[error("cannot write the ROM directory {}: {reason}; choose another one with --rom-dir or ALE_TRAIN_ROMS", path.display())]
    Unwritable {
        /// The directory.
        path: PathBuf,
        /// The cause.
        reason: io::Error,
    },
    /// No temporary directory for a download can be created.
    #[error("cannot write the temporary directory {}: {reason}; choose another one with TMPDIR", path.display())]
    NoTemporaryDirectory {
        /// The directory of temporary files.
        path: PathBuf,
        /// The cause.
        reason: io::Error,
    },
    /// Neither a flag nor the environment names a directory for ROMs.
    #[error(
        "there is no directory for ROMs because none of ALE_TRAIN_ROMS, XDG_DATA_HOME and HOME is set; set one of them, use --rom-dir, or install ale-py, which has all ROMs, with pip"
    )]
    NoDirectory,
    /// A file with the name of a zip archive or wheel cannot be read as one.
    #[error("{} is not a readable zip archive or wheel: {reason}", path.display())]
    BadArchive {
        /// The file.
        path: PathBuf,
        /// The message of the zip reader.
        reason: String,
    },
    /// The files to import include no known ROM.
    #[error("{} {}; ROMs are recognised by their MD5, and `ale-train roms list` shows the known ones", path.display(), nothing_among(*files))]
    NothingToImport {
        /// The directory or archive.
        path: PathBuf,
        /// The number of files examined.
        files: usize,
    },
    /// pip cannot download the wheel.
    #[error("cannot download {WHEEL}: {0}; without a download, {WAYS_WITHOUT_DOWNLOAD}")]
    Download(#[from] PipError),
    /// The downloaded wheel lacks ROMs of the manifest.
    #[error("the downloaded {WHEEL} lacks {} of {expected} ROMs: {}", missing.len(), missing.join(", "))]
    IncompleteWheel {
        /// The games whose images are missing.
        missing: Vec<String>,
        /// The number of images in the manifest.
        expected: usize,
    },
}

/// Returns what is said of a file or directory without a known ROM.
fn nothing_among(files: usize) -> String {
    match files {
        0 => "has no files".to_owned(),
        1 => "has no known ROM (directories, zip archives and wheels are searched; unpack other archives first)".to_owned(),
        _ => format!("has {files} files, none of which is a known ROM (archives inside archives are not searched)"),
    }
}

/// Returns the end of the message about an unknown id: similar ids, or where to find them.
fn suggestion(nearest: &[String]) -> String {
    if nearest.is_empty() {
        return "; `ale-train games` lists the known games".to_owned();
    }
    let quoted: Vec<_> = nearest.iter().map(|name| format!("'{name}'")).collect();
    format!(", did you mean {}?", quoted.join(" or "))
}
