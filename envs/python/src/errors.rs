//! Conversion of errors to Python exceptions with the same message.

use std::io;
use std::path::Path;

use ale::AleError;
use ale::roms::RomError;
use pyo3::PyErr;
use pyo3::exceptions::{PyMemoryError, PyOSError, PyRuntimeError, PyValueError};
use rl_env::{EnvError, VectorError};
use vector::BuildError;

/// Returns a `ValueError` for an invalid argument, otherwise a `RuntimeError`.
pub(crate) fn from_vector(error: &VectorError) -> PyErr {
    let message = error.to_string();
    if is_invalid_argument(error) { PyValueError::new_err(message) } else { PyRuntimeError::new_err(message) }
}

/// Returns true if an argument is invalid in every state of the environments.
pub(crate) fn is_invalid_argument(error: &VectorError) -> bool {
    matches!(
        error,
        VectorError::WrongLength { .. }
            | VectorError::UnknownEnv { .. }
            | VectorError::Duplicate { .. }
            | VectorError::MissingPlayer { .. }
            | VectorError::BadSnapshot(_)
            | VectorError::Env { error: EnvError::InvalidAction { .. } | EnvError::BadSnapshot(_), .. }
    )
}

/// Returns an `OSError` if the operating system cannot start a thread, a `MemoryError` if there is too little memory,
/// otherwise a `ValueError`.
pub(crate) fn from_build(error: &BuildError) -> PyErr {
    match error {
        BuildError::Threads(_) => PyOSError::new_err(error.to_string()),
        BuildError::Memory { .. } => PyMemoryError::new_err(error.to_string()),
        _ => PyValueError::new_err(error.to_string()),
    }
}

/// Returns a `ValueError`.
pub(crate) fn from_ale(error: &AleError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// Returns the `OSError` of a file that cannot be read or written, such as `FileNotFoundError`.
pub(crate) fn from_file(path: &Path, error: &io::Error) -> PyErr {
    io::Error::new(error.kind(), format!("{}: {error}", path.display())).into()
}

/// Returns a `MemoryError` for observations of this size.
pub(crate) fn from_memory(bytes: usize) -> PyErr {
    PyMemoryError::new_err(format!("cannot allocate {bytes} bytes for the observations of a batch"))
}

/// Returns an `OSError`: the ROM is missing and cannot be downloaded.
pub(crate) fn from_rom(error: &RomError) -> PyErr {
    PyOSError::new_err(error.to_string())
}
