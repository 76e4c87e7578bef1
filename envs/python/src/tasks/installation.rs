//! MuJoCo's library and models, which are downloaded when a task first needs them.

use std::sync::{Mutex, PoisonError};

use mujoco::{Installation, MujocoError, Task, Value};
use pyo3::exceptions::{PyOSError, PyTypeError, PyValueError};
use pyo3::prelude::*;

use super::given::{Argument, Given};
use crate::packages;

/// Loads a task from the user's installation. Missing files are downloaded with the pip of `python`.
pub(crate) fn load(id: &str, given: &Given, python: &str) -> PyResult<Task> {
    let arguments: Vec<(&str, Value)> =
        given.iter().map(|(name, value)| Ok((name, converted(id, name, value)?))).collect::<PyResult<_>>()?;
    let installation = installation().map_err(|error| from_mujoco(&error))?;
    let task = match Task::load(&installation, id, &arguments) {
        Err(MujocoError::Missing { .. }) => installation
            .fetch(&packages::pip(python))
            .and_then(|()| Task::load(&installation, id, &arguments)),
        task => task,
    };
    task.map_err(|error| from_mujoco(&error))
}

/// Returns the user's installation. It stays the same while the directory does, so that the library is loaded once.
fn installation() -> Result<Installation, MujocoError> {
    static LAST: Mutex<Option<Installation>> = Mutex::new(None);
    let located = Installation::locate(None)?;
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    match &*last {
        Some(last) if last.directory() == located.directory() => Ok(last.clone()),
        _ => Ok(last.insert(located).clone()),
    }
}

fn converted(id: &str, name: &str, value: Option<&Argument>) -> PyResult<Value> {
    let cannot_be = |kind| Err(PyTypeError::new_err(format!("{name} of {id} cannot be {kind}")));
    match value {
        Some(Argument::Flag(flag)) => Ok((*flag).into()),
        Some(Argument::Number(number)) => Ok((*number).into()),
        Some(Argument::Text(text)) => Ok(text.as_str().into()),
        Some(Argument::Pair([low, high])) => Ok((*low, *high).into()),
        Some(Argument::Triple(_)) => cannot_be("three numbers"),
        Some(Argument::Texts(_)) => cannot_be("a list of str"),
        None => cannot_be("None"),
    }
}

/// Returns a `TypeError` for an unknown argument, a `ValueError` for an invalid value, otherwise an `OSError`.
fn from_mujoco(error: &MujocoError) -> PyErr {
    let message = error.to_string();
    match error {
        MujocoError::UnknownArgument { .. } => PyTypeError::new_err(message),
        MujocoError::BadArgument { .. }
        | MujocoError::BadModel { .. }
        | MujocoError::UnsuitableModel { .. }
        | MujocoError::UnknownTask { .. } => PyValueError::new_err(message),
        _ => PyOSError::new_err(message),
    }
}
