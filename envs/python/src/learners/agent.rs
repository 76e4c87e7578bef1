use std::path::PathBuf;

use ale_train::embedding::{Agent, AgentOutputs, PlayerId};
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;

use super::{from_call, to_array};

/// A trained agent, without the conversions of observations and actions.
#[pyclass(frozen, module = "ale_train._native")]
pub(crate) struct NativeAgent(Agent);

#[pymethods]
impl NativeAgent {
    /// Opens an agent: a run, a checkpoint, a file or `zoo:NAME`.
    #[new]
    #[pyo3(signature = (path, best=false))]
    fn new(py: Python<'_>, path: PathBuf, best: bool) -> PyResult<Self> {
        py.detach(|| Agent::open(path, best)).map(Self).map_err(from_call)
    }

    /// The names of the games.
    #[getter]
    fn tasks(&self) -> Vec<String> {
        self.0.tasks.iter().map(|task| task.name.clone()).collect()
    }

    /// The experiment in JSON.
    #[getter]
    fn experiment(&self) -> &str {
        &self.0.experiment
    }

    /// The number of emulated frames of training.
    #[getter]
    fn frames(&self) -> u64 {
        self.0.frames
    }

    /// True if the network is recurrent.
    #[getter]
    fn is_recurrent(&self) -> bool {
        self.0.is_recurrent
    }

    /// True if the agent was trained with action masks.
    #[getter]
    fn is_masked(&self) -> bool {
        self.0.mask_bytes > 0
    }

    /// The shape and the dtype of an observation of the network.
    #[getter]
    fn observation(&self) -> (Vec<usize>, &'static str) {
        let space = &self.0.observation_space;
        (space.shape().unwrap_or_default(), space.dtype().map_or("float32", rl_env::Dtype::name))
    }

    /// The shape and the dtype of an action in a game.
    fn action(&self, task: usize) -> PyResult<(Vec<usize>, &'static str)> {
        let task =
            self.0.tasks.get(task).ok_or_else(|| PyIndexError::new_err("the agent has no such game"))?;
        let space = &task.action_space;
        Ok((space.shape().unwrap_or_default(), space.dtype().map_or("float32", rl_env::Dtype::name)))
    }

    /// Creates a player for some environments of a game.
    fn player(
        &self,
        py: Python<'_>,
        task: usize,
        num_envs: usize,
        greedy: bool,
        seed: u64,
    ) -> PyResult<Player> {
        let id = py.detach(|| self.0.player(task, num_envs, greedy, seed)).map_err(from_call)?;
        Ok(Player { id })
    }

    /// Removes a player.
    fn remove(&self, py: Python<'_>, player: &Player) -> PyResult<()> {
        py.detach(|| self.0.remove(player.id)).map_err(from_call)
    }

    /// Returns the elements of the actions of all rows. `observations` and `masks` are bytes, and `starts` is true
    /// where an episode starts.
    fn act<'py>(
        &self,
        py: Python<'py>,
        player: &Player,
        observations: &Bound<'py, PyArray1<u8>>,
        starts: &Bound<'py, PyArray1<bool>>,
        masks: &Bound<'py, PyArray1<u8>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (observations, starts, masks) = (observations.to_vec()?, starts.to_vec()?, masks.to_vec()?);
        let actions = py.detach(|| self.0.act(player.id, observations, starts, masks)).map_err(from_call)?;
        Ok(to_array(py, actions))
    }

    /// Returns the outputs for all rows: the probabilities or values of actions with a row for each observation, true
    /// if they are values, and the values of observations.
    fn outputs<'py>(
        &self,
        py: Python<'py>,
        player: &Player,
        observations: &Bound<'py, PyArray1<u8>>,
        starts: &Bound<'py, PyArray1<bool>>,
        masks: &Bound<'py, PyArray1<u8>>,
    ) -> PyResult<Outputs<'py>> {
        let (observations, starts, masks) = (observations.to_vec()?, starts.to_vec()?, masks.to_vec()?);
        let outputs = py.detach(|| self.0.outputs(player.id, observations, starts, masks));
        let AgentOutputs { actions, are_values, values } = outputs.map_err(from_call)?;
        let actions =
            PyArray2::from_vec2(py, &actions).map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok((actions, are_values, PyArray1::from_vec(py, values)))
    }
}

/// The outputs of an agent for some observations.
type Outputs<'py> = (Bound<'py, PyArray2<f32>>, bool, Bound<'py, PyArray1<f32>>);

/// A player of an agent, with its state.
#[pyclass(frozen, module = "ale_train._native")]
pub(crate) struct Player {
    id: PlayerId,
}
