use std::convert::Infallible;
use std::sync::Arc;

use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use rl_env::{Dtype, ObservationBuffer, Space, VectorEnv, VectorError};
use vector::{BatchOrder, PoolOptions, PoolVectorEnv};

use super::catalogue::{self, Recipe};
use super::details::Details;
use super::fields::{self, Field};
use super::given::Given;
use super::spaces;
use super::task_env::{Ends, TaskEnv};
use crate::actions::OwnActions;
use crate::environments::{Environments, State};
use crate::received::{self, Spares};
use crate::{errors, settings, signals};

/// Observations and info.
type ResetBatch<'py> = (Bound<'py, PyAny>, Bound<'py, PyDict>);

/// Rewards, terminations, truncations and info.
type StepValues<'py> =
    (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<bool>>, Bound<'py, PyArray1<bool>>, Bound<'py, PyDict>);

/// Observations, rewards, terminations, truncations and info, in Gymnasium's order.
type StepBatch<'py> = (
    Bound<'py, PyAny>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<bool>>,
    Bound<'py, PyArray1<bool>>,
    Bound<'py, PyDict>,
);

/// The settings of a vector environment, read from a Python dictionary.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct TaskSettings<'py> {
    id: String,
    /// The arguments of each environment.
    arguments: Bound<'py, PyDict>,
    num_envs: usize,
    /// The number of steps after which episodes are truncated; the environment's own if `None`.
    max_episode_steps: Option<u32>,
    /// True if info has all entries, without masks, and `env_id` and `elapsed_step`.
    complete_info: bool,
    /// A seed for each environment, used where the first reset has none.
    first_seeds: Vec<u64>,
    batch_size: usize,
    num_threads: usize,
    thread_affinity_offset: Option<usize>,
    autoreset_mode: String,
    /// True if episodes continue after their ends, as Gymnasium's single environments do.
    continues: bool,
}

/// Environments of Gymnasium other than Atari games, on a work-stealing pool.
///
/// Threads may share it: calls are serialised. All calls release the GIL while they wait.
#[pyclass(frozen, module = "ale_train._native")]
pub(crate) struct TaskPool {
    envs: Environments<TaskEnv>,
    spares: Arc<Spares>,
    fields: Vec<Field>,
    /// The names of the bounds of first states.
    bounds: &'static [&'static str],
    /// The space of one observation.
    observation_space: Space,
    /// True if a batch holds all environments.
    is_ordered: bool,
}

#[pymethods]
// PyO3 passes arguments by value.
#[allow(clippy::needless_pass_by_value)]
impl TaskPool {
    /// Creates environments from a dictionary of settings. MuJoCo is downloaded with the pip of `python` if it is
    /// missing.
    #[new]
    fn new(py: Python<'_>, settings: TaskSettings<'_>, python: &str) -> PyResult<Self> {
        let given = Given::new(&settings.id, &settings.arguments)?;
        let options = PoolOptions {
            batch_size: settings.batch_size,
            batch_order: BatchOrder::FirstCome,
            num_threads: settings.num_threads,
            thread_affinity_offset: settings.thread_affinity_offset,
            autoreset_mode: settings::autoreset_mode(&settings.autoreset_mode)?,
        };
        let (id, num_envs) = (settings.id, settings.num_envs);
        let limit = settings.max_episode_steps.or_else(|| catalogue::limit(&id));
        let continues = settings.continues;
        let (env, fields, bounds) = signals::wait(py, || {
            let Recipe { make, fields, bounds, pays_once } = catalogue::recipe(&id, &given, python)?;
            let ends = Ends { limit, continues, pays_once };
            let copies =
                PoolVectorEnv::of_factory(&id, num_envs, |_| Ok::<_, Infallible>(make(ends)), options);
            Ok::<_, PyErr>((copies.map_err(|error| errors::from_build(&error))?, fields, bounds))
        })??;
        Ok(Self {
            is_ordered: env.is_ordered(),
            observation_space: env.single_observation_space().clone(),
            envs: Environments::new(env, settings.first_seeds, settings.complete_info),
            spares: Arc::default(),
            fields,
            bounds,
        })
    }

    /// The names of the bounds of first states.
    #[getter]
    fn bounds(&self) -> Vec<&'static str> {
        self.bounds.to_vec()
    }

    /// The entries of infos without masks: the name, the type of the elements and the shape of a row.
    #[getter]
    fn fields(&self) -> Vec<(&str, &'static str, Vec<usize>)> {
        self.fields.iter().map(Field::described).collect()
    }

    /// The space of one observation, and that of one action.
    #[getter]
    fn spaces<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyTuple>)> {
        let env = &self.envs.lock(py)?.env;
        let observations = spaces::described(py, env.single_observation_space())?;
        Ok((observations, spaces::described(py, &env.action_spaces()[0])?))
    }

    /// True after the first reset.
    #[getter]
    fn was_reset(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.envs.lock(py)?.was_reset())
    }

    /// The environments in flight.
    #[getter]
    fn in_flight(&self, py: Python<'_>) -> PyResult<Vec<usize>> {
        Ok(self.envs.lock(py)?.in_flight())
    }

    /// Resets all environments, or those selected by `mask`. A seed of `None` continues the random number generator.
    /// `bounds` are those of the first states.
    #[pyo3(signature = (seeds, mask = None, bounds = Vec::new()))]
    fn reset<'py>(
        &self,
        py: Python<'py>,
        seeds: Vec<Option<u64>>,
        mask: Option<PyReadonlyArray1<'py, bool>>,
        bounds: Vec<(String, f64)>,
    ) -> PyResult<ResetBatch<'py>> {
        let mask = mask.map(|mask| mask.as_array().to_vec());
        let selects = |row: usize| mask.as_ref().is_none_or(|mask| mask[row]);
        if !bounds.is_empty() {
            self.start_within(py, &bounds, selects)?;
        }
        let batch = self.reset_batch(py, |state| state.reset(&seeds, mask.as_deref()), selects);
        if batch.is_err() && !bounds.is_empty() {
            self.start_within(py, &[], selects)?;
        }
        batch
    }

    /// Sends one action to each environment of the last batch or of `env_ids`, without waiting.
    #[pyo3(signature = (actions, env_ids = None))]
    fn send(&self, py: Python<'_>, actions: OwnActions, env_ids: Option<Vec<usize>>) -> PyResult<()> {
        let state = &mut *self.envs.lock(py)?;
        self.envs.wait(py, state, |State { env, .. }| match env_ids {
            None => env.send(actions.as_actions()),
            Some(env_ids) => env.send_to(actions.as_actions(), &env_ids),
        })
    }

    /// Resets these environments without waiting. A seed of `None` continues the random number generator.
    fn send_reset(&self, py: Python<'_>, env_ids: Vec<usize>, seeds: Vec<Option<u64>>) -> PyResult<()> {
        let state = &mut *self.envs.lock(py)?;
        self.envs.wait(py, state, |state| state.send_reset(&env_ids, &seeds))
    }

    /// Lets the environments that are not in flight report their state again.
    fn send_report(&self, py: Python<'_>) -> PyResult<()> {
        let state = &mut *self.envs.lock(py)?;
        self.envs.wait(py, state, |state| state.env.send_report())
    }

    /// Waits for the next batch.
    fn recv<'py>(&self, py: Python<'py>) -> PyResult<StepBatch<'py>> {
        self.step_batch(py, |state| state.env.recv().map(drop))
    }

    /// Sends one action to each environment of the last batch and waits for the next batch.
    fn step<'py>(&self, py: Python<'py>, actions: OwnActions) -> PyResult<StepBatch<'py>> {
        self.step_batch(py, |state| state.env.step(actions.as_actions()).map(drop))
    }

    /// Returns the complete state of all environments.
    fn snapshot<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let state = &mut *self.envs.lock(py)?;
        let snapshot = self.envs.wait(py, state, |State { env, .. }| env.snapshot())?;
        Ok(PyBytes::new(py, &snapshot))
    }

    /// Restores a state from `snapshot` and returns it.
    fn restore<'py>(&self, py: Python<'py>, snapshot: &[u8]) -> PyResult<ResetBatch<'py>> {
        self.reset_batch(py, |state| state.restore(snapshot, None), |_| true)
    }
}

impl TaskPool {
    /// Replaces bounds of the first state of the selected environments in the next reset.
    fn start_within(
        &self,
        py: Python<'_>,
        bounds: &[(String, f64)],
        selects: impl Fn(usize) -> bool,
    ) -> PyResult<()> {
        let bounds: Vec<(&str, f64)> = bounds.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        let env = &mut self.envs.lock(py)?.env;
        for index in (0..env.num_envs()).filter(|&index| selects(index)) {
            let changed = env.with_env_mut(index, |env| env.start_within(&bounds));
            let changed = changed.map_err(|error| errors::from_vector(&error))?;
            changed.map_err(|error| PyValueError::new_err(error.to_string()))?;
        }
        Ok(())
    }

    /// Performs `call` and returns the batch that it leaves as the result of a reset of the selected rows.
    fn reset_batch<'py>(
        &self,
        py: Python<'py>,
        call: impl FnOnce(&mut State<TaskEnv>) -> Result<(), VectorError> + Send,
        selects: impl Fn(usize) -> bool,
    ) -> PyResult<ResetBatch<'py>> {
        let (observations, info) =
            received::take_batch(py, &self.envs, &self.spares, call, |env: &PoolVectorEnv<TaskEnv>| {
                let rows = env.infos().iter().enumerate();
                let rows: Vec<Option<&Details>> =
                    rows.map(|(row, details)| selects(row).then_some(details)).collect();
                self.info(py, env, &rows)
            })?;
        Ok((self.observations(py, observations)?, info))
    }

    /// Performs `call` and returns the batch that it leaves as the result of a step.
    fn step_batch<'py>(
        &self,
        py: Python<'py>,
        call: impl FnOnce(&mut State<TaskEnv>) -> Result<(), VectorError> + Send,
    ) -> PyResult<StepBatch<'py>> {
        let (observations, (rewards, terminated, truncated, info)) =
            received::take_batch(py, &self.envs, &self.spares, call, |env: &PoolVectorEnv<TaskEnv>| {
                self.step_values(py, env)
            })?;
        Ok((self.observations(py, observations)?, rewards, terminated, truncated, info))
    }

    /// Returns the last batch as the result of a step, without the observations.
    fn step_values<'py>(&self, py: Python<'py>, env: &PoolVectorEnv<TaskEnv>) -> PyResult<StepValues<'py>> {
        let (batch, last) = (env.batch(), env.final_infos());
        let truncated: Vec<bool> = last.iter().map(|details| details.truncated).collect();
        let info = self.info(py, env, &env.infos().iter().map(Some).collect::<Vec<_>>())?;
        let ended: Vec<bool> =
            (0..batch.len()).map(|row| batch.terminated[row] || batch.truncated[row]).collect();
        if batch.final_observations.rows() > 0 && ended.contains(&true) {
            self.add_final(&info, env, &ended)?;
        }
        let rewards = received::column(py, last.iter().map(|details| details.reward));
        let terminated: Vec<bool> =
            batch.terminated.iter().zip(last).map(|(&ends, details)| ends || details.has_ended).collect();
        let terminated = PyArray1::from_slice(py, &terminated);
        let truncated = PyArray1::from_slice(py, &truncated);
        Ok((rewards, terminated, truncated, info))
    }

    /// Returns the info of these rows.
    fn info<'py>(
        &self,
        py: Python<'py>,
        env: &PoolVectorEnv<TaskEnv>,
        rows: &[Option<&Details>],
    ) -> PyResult<Bound<'py, PyDict>> {
        let info = PyDict::new(py);
        let ids = || received::column(py, env.batch().env_ids.iter().map(|&id| id as i32));
        if self.envs.extra_info {
            info.set_item("env_id", ids())?;
            fields::add_without_masks(&info, &self.fields, rows)?;
            let elapsed = env.infos().iter().map(|details| details.elapsed as i32);
            info.set_item("elapsed_step", received::column(py, elapsed))?;
        } else {
            fields::add(&info, &self.fields, rows)?;
            if !self.is_ordered {
                info.set_item("env_id", ids())?;
            }
        }
        Ok(info)
    }

    /// Adds the last observations and infos of the episodes that ended.
    fn add_final(
        &self,
        info: &Bound<'_, PyDict>,
        env: &PoolVectorEnv<TaskEnv>,
        ended: &[bool],
    ) -> PyResult<()> {
        let py = info.py();
        let space = env.single_observation_space();
        let observations = arrays(py, space, &env.batch().final_observations)?;
        let rows = env.final_infos().iter().zip(ended);
        let rows: Vec<Option<&Details>> = rows.map(|(details, &ended)| ended.then_some(details)).collect();
        let final_info = PyDict::new(py);
        fields::add(&final_info, &self.fields, &rows)?;
        info.set_item("final_obs", observations)?;
        info.set_item("_final_obs", PyArray1::from_slice(py, ended))?;
        info.set_item("final_info", final_info)?;
        info.set_item("_final_info", PyArray1::from_slice(py, ended))
    }

    /// Moves observations to a NumPy array, which owns their memory from now on. Those of a `Tuple` are copied.
    fn observations<'py>(
        &self,
        py: Python<'py>,
        observations: ObservationBuffer,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (shape, spares) = (&self.envs.shape, &self.spares);
        Ok(match self.observation_space.dtype() {
            Some(Dtype::F32) => received::share::<f32>(py, observations, shape, spares)?.into_any(),
            Some(Dtype::F64) => received::share::<f64>(py, observations, shape, spares)?.into_any(),
            Some(Dtype::I64) => received::share::<i64>(py, observations, shape, spares)?.into_any(),
            Some(Dtype::U8) => received::share::<u8>(py, observations, shape, spares)?.into_any(),
            Some(Dtype::I8) => received::share::<i8>(py, observations, shape, spares)?.into_any(),
            None => {
                let copies = arrays(py, &self.observation_space, &observations)?;
                spares.put(observations);
                copies
            }
        })
    }
}

/// Returns copies of observations: an array, or for a `Tuple` one for each part.
fn arrays<'py>(py: Python<'py>, space: &Space, buffer: &ObservationBuffer) -> PyResult<Bound<'py, PyAny>> {
    let shape = space.shape().unwrap_or_default();
    Ok(match space.dtype() {
        Some(Dtype::F32) => received::copy::<f32>(py, buffer, &shape)?.into_any(),
        Some(Dtype::F64) => received::copy::<f64>(py, buffer, &shape)?.into_any(),
        Some(Dtype::I64) => received::copy::<i64>(py, buffer, &shape)?.into_any(),
        Some(Dtype::U8) => received::copy::<u8>(py, buffer, &shape)?.into_any(),
        Some(Dtype::I8) => received::copy::<i8>(py, buffer, &shape)?.into_any(),
        None => {
            let parts = (0..space.parts().count()).map(|index| {
                let value = |row| bytemuck::cast_slice::<u8, i64>(buffer.row(row))[index];
                received::column(py, (0..buffer.rows()).map(value))
            });
            PyTuple::new(py, parts)?.into_any()
        }
    })
}
