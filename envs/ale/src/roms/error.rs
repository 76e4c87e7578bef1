use std::io;
use std::path::PathBuf;

use thiserror::Error;

use super::digest::Md5Sum;
use super::wheel::WHEEL;

/// What can go wrong between a game's name and its ROM image. Each message is one sentence that says what to do.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RomError {
    /// No ROM of this id is known.
    #[error("unknown game '{id}'{}", suggestion(.nearest))]
    Unknown {
        /// The id as it was given.
        id: String,
        /// Known ids that look alike, the closest first.
        nearest: Vec<String>,
    },
    /// The image is known but not in the store.
    #[error("the ROM of {id} is missing: there is no {}; `ale-train roms fetch` downloads it, `ale-train roms import` takes a copy that you have", path.display())]
    Missing {
        /// The game.
        id: String,
        /// Where the image should be.
        path: PathBuf,
    },
    /// The file in the store is not the image that its name says.
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
    /// A file or folder cannot be read.
    #[error("cannot read {}: {reason}", path.display())]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// Why not.
        reason: io::Error,
    },
    /// The store's folder cannot be written.
    #[error("cannot write the ROM folder {}: {reason}; choose another with --rom-dir or ALE_TRAIN_ROMS", path.display())]
    Unwritable {
        /// The folder.
        path: PathBuf,
        /// Why not.
        reason: io::Error,
    },
    /// Neither a flag nor the environment says where ROMs are kept.
    #[error(
        "no place for ROMs is known: none of ALE_TRAIN_ROMS, XDG_DATA_HOME and HOME is set; choose a folder with --rom-dir"
    )]
    NoDirectory,
    /// A file to import from is no zip archive although its name says so.
    #[error("{} is not a readable zip archive or wheel: {reason}", path.display())]
    BadArchive {
        /// The file.
        path: PathBuf,
        /// What the zip reader says.
        reason: String,
    },
    /// No known ROM was among the files to import.
    #[error("no known ROM among the {files} files of {}; ROMs are recognised by their MD5, `ale-train roms list` shows which are known", path.display())]
    NothingToImport {
        /// The folder or archive.
        path: PathBuf,
        /// Number of files that were looked at.
        files: usize,
    },
    /// There is no Python interpreter to download with.
    #[error(
        "fetching ROMs needs Python 3 with pip, but none of {tried} can be started; install Python 3, or use `ale-train roms import` with files that you have"
    )]
    NoPython {
        /// The names that were tried.
        tried: String,
    },
    /// The Python interpreter has no pip.
    #[error(
        "fetching ROMs needs pip, but `{python} -m pip` does not exist; install it (Debian: python3-pip), or use `ale-train roms import` with files that you have"
    )]
    NoPip {
        /// The interpreter.
        python: String,
    },
    /// pip could not reach the package index.
    #[error(
        "pip cannot reach the package index to download {WHEEL} ({detail}); check the network, or use `ale-train roms import` with files that you have"
    )]
    NoNetwork {
        /// pip's own words.
        detail: String,
    },
    /// pip failed for another reason.
    #[error("pip cannot download {WHEEL}: {detail}")]
    PipFailed {
        /// pip's own words.
        detail: String,
    },
    /// The downloaded wheel lacks ROMs that it should hold.
    #[error("the downloaded {WHEEL} lacks {} of {expected} ROMs: {}", missing.len(), missing.join(", "))]
    IncompleteWheel {
        /// The games whose images were not found.
        missing: Vec<String>,
        /// Number of images in the manifest.
        expected: usize,
    },
}

/// ` (did you mean 'a' or 'b'?)`, or nothing.
fn suggestion(nearest: &[String]) -> String {
    if nearest.is_empty() {
        return "; `ale-train games` lists the known ones".to_owned();
    }
    let quoted: Vec<_> = nearest.iter().map(|name| format!("'{name}'")).collect();
    format!(", did you mean {}?", quoted.join(" or "))
}
