use std::ffi::OsString;
use std::path::PathBuf;

use ale_train::embedding::{self, CallError, Command, Observer, Provider};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::vector_env::HostVectorEnv;
use super::{from_call, spaces_of};
use crate::signals;

/// Runs the program, whose file is `program`, with these arguments, the first of which is its name. Returns its exit
/// status.
#[pyfunction]
pub(crate) fn main(py: Python<'_>, program: PathBuf, arguments: Vec<OsString>) -> u8 {
    py.detach(|| ale_train::main(program, arguments))
}

/// Runs a command of the program and returns what it writes to standard output.
///
/// `environments` is the bridge to a vector environment. `observer` is called with each record of a run in JSON; if it
/// returns true, the run ends with a checkpoint. Exceptions of both, and those of signal handlers, end it too and are
/// raised afterwards.
#[pyfunction]
#[pyo3(signature = (arguments, environments=None, observer=None))]
pub(crate) fn run_command(
    py: Python<'_>,
    arguments: Vec<OsString>,
    environments: Option<Py<PyAny>>,
    observer: Option<Py<PyAny>>,
) -> PyResult<Bound<'_, PyBytes>> {
    let stopped = signals::Stopped::default();
    let environments = environments.map(|bridge| -> Provider {
        let stopped = stopped.clone();
        Box::new(move || HostVectorEnv::new(bridge, stopped).map(|env| Box::new(env) as _))
    });
    let observer = observer.map(|observer| -> Observer {
        let stopped = stopped.clone();
        Box::new(move |record| {
            stopped.if_true(|py| observer.call1(py, (record,))?.is_truthy(py));
        })
    });
    let command = Command { arguments, environments, observer };
    let result = signals::poll(py, &stopped, |is_stopped| command.run(is_stopped))?;
    match result {
        Ok(output) => Ok(PyBytes::new(py, &output)),
        // The observer returned true.
        Err(CallError::Interrupted(_)) => Ok(PyBytes::new(py, b"")),
        Err(error) => Err(from_call(error)),
    }
}

/// Returns the key that a short name of a setting means for an algorithm.
#[pyfunction]
pub(crate) fn key_of_setting(name: &str, algorithm: &str) -> PyResult<String> {
    embedding::key_of_setting(name, algorithm).map_err(from_call)
}

/// Returns the experiment that a training command describes, in JSON.
#[pyfunction]
pub(crate) fn planned_experiment(arguments: Vec<OsString>) -> PyResult<String> {
    embedding::planned_experiment(arguments).map_err(from_call)
}

/// Returns the frames, the steps and the updates of a run at its newest checkpoint. None if it has none.
#[pyfunction]
pub(crate) fn progress(run_dir: PathBuf) -> PyResult<Option<(u64, u64, u64)>> {
    let progress = embedding::progress(run_dir).map_err(from_call)?;
    Ok(progress.map(|progress| (progress.frames, progress.steps, progress.updates)))
}

/// Returns the experiment of a run in JSON.
#[pyfunction]
pub(crate) fn experiment(run_dir: PathBuf) -> PyResult<String> {
    embedding::experiment(run_dir).map_err(from_call)
}

/// Returns the size of an observation of the spaces that worker.py describes in JSON.
#[pyfunction]
pub(crate) fn row_bytes(spaces: &str) -> PyResult<usize> {
    Ok(spaces_of(spaces)?.0.byte_len())
}

/// Returns the program of the workers that step environments of Gymnasium.
#[pyfunction]
pub(crate) fn worker_source() -> &'static str {
    gymnasium_workers::WORKER
}
