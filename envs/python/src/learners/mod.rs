//! The program and its learners.

mod agent;
mod learner;
mod program;
mod vector_env;

pub(crate) use agent::NativeAgent;
pub(crate) use learner::NativeLearner;
pub(crate) use program::{
    experiment, key_of_setting, main, planned_experiment, progress, row_bytes, run_command, worker_source,
};

use ale_train::embedding::CallError;
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use rl_env::{ActionBuffer, Space};

/// The results of a step: `ale_train.bridge.Results`.
#[derive(FromPyObject)]
struct Results<'py> {
    observations: PyReadonlyArray1<'py, u8>,
    final_observations: PyReadonlyArray1<'py, u8>,
    rewards: PyReadonlyArray1<'py, f64>,
    terminated: PyReadonlyArray1<'py, bool>,
    truncated: PyReadonlyArray1<'py, bool>,
    action_masks: PyReadonlyArray1<'py, u8>,
    final_action_masks: PyReadonlyArray1<'py, u8>,
}

/// Returns a `ValueError` for invalid arguments, otherwise a `RuntimeError`.
fn from_call(error: CallError) -> PyErr {
    match error {
        CallError::Arguments(text) => PyValueError::new_err(text),
        CallError::Failed(text) => PyRuntimeError::new_err(text),
        CallError::Interrupted(text) => PyKeyboardInterrupt::new_err(text),
    }
}

/// Returns the spaces that worker.py describes in JSON.
fn spaces_of(described: &str) -> PyResult<(Space, Space)> {
    let spaces = gymnasium_workers::described_spaces(described);
    spaces.ok_or_else(|| PyValueError::new_err("the description of the spaces is not valid"))
}

/// Returns the elements of actions as an array of int32 or float32.
fn to_array(py: Python<'_>, actions: ActionBuffer) -> Bound<'_, PyAny> {
    match actions {
        ActionBuffer::Discrete(elements) => PyArray1::from_vec(py, elements).into_any(),
        ActionBuffer::Continuous(elements) => PyArray1::from_vec(py, elements).into_any(),
    }
}
