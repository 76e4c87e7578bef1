use std::ffi::OsString;

use ale_train::embedding::{Learner, LearnerEnvs, Transition};
use numpy::{PyArray1, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rl_env::AutoresetMode;

use super::{Results, from_call, spaces_of, to_array};

/// A learner, without the conversions of observations and actions.
#[pyclass(frozen, module = "ale_train._native")]
pub(crate) struct NativeLearner(Learner);

#[pymethods]
impl NativeLearner {
    /// Creates a learner from the arguments of a training command, and the spaces as worker.py describes them.
    #[new]
    fn new(
        py: Python<'_>,
        arguments: Vec<OsString>,
        spaces: &str,
        num_envs: usize,
        are_masked: bool,
        autoreset_mode: &str,
    ) -> PyResult<Self> {
        let (observation_space, action_space) = spaces_of(spaces)?;
        let autoreset_mode = match autoreset_mode {
            "NextStep" => AutoresetMode::NextStep,
            "SameStep" => AutoresetMode::SameStep,
            other => {
                let message =
                    format!("the autoreset mode is {other}, but learners need NextStep or SameStep");
                return Err(PyValueError::new_err(message));
            }
        };
        let envs = LearnerEnvs { num_envs, observation_space, action_space, are_masked, autoreset_mode };
        py.detach(|| Learner::new(arguments, envs)).map(Self).map_err(from_call)
    }

    /// Returns the elements of the actions of all rows.
    fn act<'py>(
        &self,
        py: Python<'py>,
        observations: &Bound<'py, PyArray1<u8>>,
        masks: &Bound<'py, PyArray1<u8>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (observations, masks) = (observations.to_vec()?, masks.to_vec()?);
        Ok(to_array(py, py.detach(|| self.0.act(observations, masks)).map_err(from_call)?))
    }

    /// Observes the results of the last actions: an `ale_train.bridge.Results`.
    fn observe(&self, py: Python<'_>, results: &Bound<'_, PyAny>) -> PyResult<()> {
        let results: Results<'_> = results.extract()?;
        let transition = Transition {
            observations: results.observations.as_array().to_vec(),
            rewards: results.rewards.as_array().iter().map(|&reward| reward as f32).collect(),
            terminated: results.terminated.as_array().to_vec(),
            truncated: results.truncated.as_array().to_vec(),
            final_observations: results.final_observations.as_array().to_vec(),
            action_masks: results.action_masks.as_array().to_vec(),
            final_action_masks: results.final_action_masks.as_array().to_vec(),
        };
        py.detach(|| self.0.observe(transition)).map_err(from_call)
    }

    /// Updates the network if an update is due, and returns its metrics.
    fn update(&self, py: Python<'_>) -> PyResult<Option<Vec<(String, f64)>>> {
        py.detach(|| self.0.update()).map_err(from_call)
    }

    /// Returns the number of updates, and true if training is complete.
    fn progress(&self, py: Python<'_>) -> PyResult<(u64, bool)> {
        py.detach(|| self.0.progress()).map_err(from_call)
    }

    /// Returns the complete state.
    fn state<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &py.detach(|| self.0.state()).map_err(from_call)?))
    }

    /// Restores a state.
    fn restore(&self, py: Python<'_>, state: Vec<u8>) -> PyResult<()> {
        py.detach(|| self.0.restore(state)).map_err(from_call)
    }
}
