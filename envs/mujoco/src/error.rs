use std::io;
use std::path::PathBuf;

use downloads::PipError;
use thiserror::Error;

use crate::versions::PACKAGES;

/// An error in creating an environment from the id of a task. Each message is one sentence.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MujocoError {
    /// A file of the installation does not exist.
    #[error("MuJoCo is missing: {} does not exist; `pip install --no-deps --target DIRECTORY {}` with ALE_TRAIN_MUJOCO=DIRECTORY provides it", path.display(), PACKAGES.join(" "))]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// A file does not exist in a directory of Python packages, into which nothing is downloaded.
    #[error("MuJoCo is missing: {} does not exist, and nothing is written into a directory of Python packages; \
         `pip install --no-deps --target DIRECTORY {}` with ALE_TRAIN_MUJOCO=DIRECTORY provides it", path.display(), PACKAGES.join(" "))]
    MissingPackage {
        /// The file.
        path: PathBuf,
    },
    /// A file cannot be read.
    #[error("cannot read {}: {reason}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The cause.
        reason: io::Error,
    },
    /// A file of the installation has different contents.
    #[error("{} is damaged or from another version: its SHA-256 is {found}, expected {expected}; \
         if it is removed, it is downloaded again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Its SHA-256.
        found: String,
        /// The known SHA-256.
        expected: &'static str,
    },
    /// No library of MuJoCo is known for this operating system and processor.
    #[error("there is no known MuJoCo library for {system} on {processor}")]
    UnknownPlatform {
        /// The operating system.
        system: &'static str,
        /// The processor.
        processor: &'static str,
    },
    /// A file cannot be loaded as a library, or lacks a function of MuJoCo.
    #[error("{} is not a MuJoCo library: {reason}", path.display())]
    NotALibrary {
        /// The file.
        path: PathBuf,
        /// The message of the loader.
        reason: String,
    },
    /// The version of the library is not supported.
    #[error("{} is MuJoCo {found}; the supported versions are {supported}", path.display())]
    UnsupportedVersion {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: String,
        /// The supported versions.
        supported: String,
    },
    /// A model cannot be loaded.
    #[error("{} is not a model that MuJoCo can load: {reason}", path.display())]
    BadModel {
        /// The file.
        path: PathBuf,
        /// The message of MuJoCo.
        reason: String,
    },
    /// A model lacks what its task needs.
    #[error("{} is not suitable for {task}: {reason}", path.display())]
    UnsuitableModel {
        /// The id of the task.
        task: &'static str,
        /// The file.
        path: PathBuf,
        /// The missing or unsuitable part.
        reason: String,
    },
    /// The directory of the installation cannot be written.
    #[error("cannot write {}: {reason}; ALE_TRAIN_MUJOCO chooses another directory", path.display())]
    Unwritable {
        /// The directory.
        path: PathBuf,
        /// The cause.
        reason: io::Error,
    },
    /// Neither an argument nor the environment names a directory for MuJoCo.
    #[error(
        "there is no directory for MuJoCo because none of ALE_TRAIN_MUJOCO, XDG_DATA_HOME and HOME is set"
    )]
    NoDirectory,
    /// pip cannot install the packages.
    #[error("cannot install {packages}: {0}", packages = PACKAGES.join(" and "))]
    Download(#[from] PipError),
    /// The task is unknown.
    #[error("there is no MuJoCo task {id:?}{}", nearest.map_or_else(String::new, |id| format!(
        "; the nearest is {id:?}"
    )))]
    UnknownTask {
        /// The id as it was given.
        id: String,
        /// The nearest id, if any is similar.
        nearest: Option<&'static str>,
    },
    /// The task has no such argument.
    #[error("{task} has no argument {name:?}; its arguments are {}", known.join(", "))]
    UnknownArgument {
        /// The id of the task.
        task: &'static str,
        /// The argument as it was given.
        name: String,
        /// The arguments of the task.
        known: Vec<&'static str>,
    },
    /// The value of an argument has the wrong kind or is out of range.
    #[error("{name} of {task} must be {expected}, not {found}")]
    BadArgument {
        /// The id of the task.
        task: &'static str,
        /// The argument.
        name: &'static str,
        /// The allowed values.
        expected: &'static str,
        /// The value as it was given.
        found: String,
    },
}
