//! Which Python exception an error becomes. The sentence stays the same.

use ale::AleError;
use ale::roms::RomError;
use pyo3::PyErr;
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use rl_env::{EnvError, VectorError};
use vector::BuildError;

/// A wrong argument is a `ValueError`; a call at the wrong moment and a failed environment are `RuntimeError`s.
pub(crate) fn of_vector(error: &VectorError) -> PyErr {
    let message = error.to_string();
    match error {
        VectorError::WrongLength { .. }
        | VectorError::UnknownEnv { .. }
        | VectorError::BadSnapshot(_)
        | VectorError::Env { error: EnvError::InvalidAction { .. } | EnvError::BadSnapshot(_), .. } => {
            PyValueError::new_err(message)
        }
        _ => PyRuntimeError::new_err(message),
    }
}

/// A `ValueError`, but for the operating system's refusals.
pub(crate) fn of_build(error: &BuildError) -> PyErr {
    match error {
        BuildError::Threads(_) => PyOSError::new_err(error.to_string()),
        _ => PyValueError::new_err(error.to_string()),
    }
}

/// A `ValueError`.
pub(crate) fn of_ale(error: &AleError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// An `OSError`: the ROM is not there, and could not be fetched.
pub(crate) fn of_rom(error: &RomError) -> PyErr {
    PyOSError::new_err(error.to_string())
}
