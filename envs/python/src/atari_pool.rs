use std::sync::Arc;

use numpy::{PyArray1, PyArray2, PyArray3, PyArrayDyn, PyArrayMethods, PyReadonlyArray1};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use rl_env::{ObservationBuffer, VectorEnv, VectorError};
use vector::AtariVectorEnv;

use crate::actions::OwnActions;
use crate::ale_interface::AleInterface;
use crate::columns::Rows;
use crate::environments::{Environments, State};
use crate::received::{self, ResetBatch, Spares, StepBatch};
use crate::settings::Settings;
use crate::xla::{self, Opened, Output};
use crate::{errors, info, packages, signals};

/// Rewards, terminations, truncations and info.
type StepValues<'py> =
    (Bound<'py, PyArray1<i32>>, Bound<'py, PyArray1<bool>>, Bound<'py, PyArray1<bool>>, Bound<'py, PyDict>);

/// Atari environments on a work-stealing pool.
///
/// Threads may share it: calls are serialised. All calls release the GIL while they wait.
#[pyclass(frozen, module = "ale_train._native")]
pub(crate) struct AtariPool {
    envs: Arc<Environments>,
    spares: Arc<Spares>,
    /// The action codes of each environment.
    action_codes: Vec<&'static [u8]>,
    /// The handle for XLA.
    opened: Opened,
}

#[pymethods]
// PyO3 passes arguments by value.
#[allow(clippy::needless_pass_by_value)]
impl AtariPool {
    /// Creates environments from a dictionary of settings. Missing ROMs are downloaded with the pip of `python`.
    #[new]
    fn new(py: Python<'_>, settings: Settings, python: &str) -> PyResult<Self> {
        let pool = settings.pool()?;
        let games = settings.games().map_err(|error| errors::from_ale(&error))?;
        let sources = packages::rom_sources(py)?;
        let env = signals::wait(py, || {
            let groups = settings
                .groups(&games, &sources, &packages::pip(python))
                .map_err(|error| errors::from_rom(&error))?;
            AtariVectorEnv::of_groups(groups, pool).map_err(|error| errors::from_build(&error))
        })??;
        let action_codes = settings.action_codes(&games, 1);
        let envs = Arc::new(Environments::new(env, settings.first_seeds, settings.extra_info));
        let spares = Arc::new(Spares::new(settings.pinned));
        Ok(Self { opened: xla::open(&envs), envs, spares, action_codes })
    }

    /// The action codes of each environment.
    #[getter]
    fn action_codes(&self) -> Vec<Vec<u8>> {
        self.action_codes.iter().map(|codes| codes.to_vec()).collect()
    }

    /// The shape of one observation.
    #[getter]
    fn observation_shape(&self) -> Vec<usize> {
        self.envs.shape.clone()
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

    /// The handle that names the environments in calls of XLA.
    #[getter]
    fn xla_handle(&self) -> [u8; 8] {
        self.opened.handle()
    }

    /// Returns the results of resets and of steps in XLA, after the handle: path, element type and shape of each array.
    fn xla_results(&self, py: Python<'_>) -> PyResult<(Vec<Output>, Vec<Output>)> {
        let env = &self.envs.lock(py)?.env;
        let rows = Rows::last_batch(env);
        Ok((xla::reset_outputs(&self.envs, &rows), xla::step_outputs(&self.envs, &rows)))
    }

    /// Resets all environments, or those selected by `mask`. A seed of `None` continues the random number generator.
    #[pyo3(signature = (seeds, mask = None))]
    fn reset<'py>(
        &self,
        py: Python<'py>,
        seeds: Vec<Option<u64>>,
        mask: Option<PyReadonlyArray1<'py, bool>>,
    ) -> PyResult<ResetBatch<'py>> {
        let mask = mask.map(|mask| mask.as_array().to_vec());
        self.reset_batch(py, |state| state.reset(&seeds, mask.as_deref()))
    }

    /// Sends one action, or a sequence of `lengths[i]` actions, to each environment of the last batch or of `env_ids`,
    /// without waiting.
    #[pyo3(signature = (actions, env_ids = None, lengths = None))]
    fn send(
        &self,
        py: Python<'_>,
        actions: OwnActions,
        env_ids: Option<Vec<usize>>,
        lengths: Option<Vec<usize>>,
    ) -> PyResult<()> {
        let state = &mut *self.envs.lock(py)?;
        self.envs.wait(py, state, |State { env, .. }| {
            let actions = actions.as_actions();
            match (env_ids, lengths) {
                (None, None) => env.send(actions),
                (Some(env_ids), None) => env.send_to(actions, &env_ids),
                (env_ids, Some(lengths)) => {
                    let env_ids = env_ids.unwrap_or_else(|| env.batch().env_ids.clone());
                    env.send_sequences(actions, &lengths, &env_ids)
                }
            }
        })
    }

    /// Resets these environments without waiting. A seed of `None` continues the random number generator.
    fn send_reset(&self, py: Python<'_>, env_ids: Vec<usize>, seeds: Vec<Option<u64>>) -> PyResult<()> {
        let state = &mut *self.envs.lock(py)?;
        self.envs.wait(py, state, |state| state.send_reset(&env_ids, &seeds))
    }

    /// Makes the environments that are not in flight report their state again.
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

    /// Returns the complete state of all or some environments.
    #[pyo3(signature = (env_ids = None))]
    fn snapshot<'py>(&self, py: Python<'py>, env_ids: Option<Vec<usize>>) -> PyResult<Bound<'py, PyBytes>> {
        let state = &mut *self.envs.lock(py)?;
        let snapshot = self.envs.wait(py, state, |State { env, .. }| match env_ids {
            None => env.snapshot(),
            Some(env_ids) => env.snapshot_envs(&env_ids),
        })?;
        Ok(PyBytes::new(py, &snapshot))
    }

    /// Restores a state from `snapshot` to all or some environments and returns it.
    #[pyo3(signature = (snapshot, env_ids = None))]
    fn restore<'py>(
        &self,
        py: Python<'py>,
        snapshot: &[u8],
        env_ids: Option<Vec<usize>>,
    ) -> PyResult<ResetBatch<'py>> {
        self.reset_batch(py, |state| state.restore(snapshot, env_ids.as_deref()))
    }

    /// Returns the screen of an environment, an array of shape `(height, width, 3)`.
    fn render<'py>(&self, py: Python<'py>, env_id: usize) -> PyResult<Bound<'py, PyArray3<u8>>> {
        let image = self.envs.lock(py)?.env.render(env_id).map_err(|error| errors::from_vector(&error))?;
        PyArray1::from_vec(py, image.pixels).reshape([image.height, image.width, 3])
    }

    /// Returns a copy of the emulator of an environment that is not in flight.
    fn emulator(&self, py: Python<'_>, env_id: usize) -> PyResult<AleInterface> {
        let env = &self.envs.lock(py)?.env;
        env.with_env(env_id, AleInterface::copy_of).map_err(|error| errors::from_vector(&error))
    }

    /// Returns the RAM of the environments of the last batch, which must not be in flight: `(rows, 128)`.
    fn ram<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<u8>>> {
        let env = &self.envs.lock(py)?.env;
        let ids = &env.batch().env_ids;
        let rams = ids.iter().map(|&id| env.with_env(id, |env| env.ale().ram().to_vec()));
        let rams = rams.collect::<Result<Vec<_>, _>>().map_err(|error| errors::from_vector(&error))?;
        Ok(PyArray2::from_vec2(py, &rams)?)
    }
}

impl AtariPool {
    /// Calls `call` and returns the resulting batch as the result of a reset.
    fn reset_batch<'py>(
        &self,
        py: Python<'py>,
        call: impl FnOnce(&mut State) -> Result<(), VectorError> + Send,
    ) -> PyResult<ResetBatch<'py>> {
        let (observations, info) =
            received::take_batch(py, &self.envs, &self.spares, call, |env: &AtariVectorEnv| {
                info::of_batch(py, &Rows::last_batch(env), self.envs.extra_info)
            })?;
        Ok((self.observations(py, observations)?, info))
    }

    /// Calls `call` and returns the resulting batch as the result of a step.
    fn step_batch<'py>(
        &self,
        py: Python<'py>,
        call: impl FnOnce(&mut State) -> Result<(), VectorError> + Send,
    ) -> PyResult<StepBatch<'py>> {
        let (observations, (rewards, terminated, truncated, info)) =
            received::take_batch(py, &self.envs, &self.spares, call, |env: &AtariVectorEnv| {
                self.step_values(py, env)
            })?;
        Ok((self.observations(py, observations)?, rewards, terminated, truncated, info))
    }

    /// Returns the last batch as the result of a step, without the observations.
    fn step_values<'py>(&self, py: Python<'py>, env: &AtariVectorEnv) -> PyResult<StepValues<'py>> {
        let info = info::of_batch(py, &Rows::last_batch(env), self.envs.extra_info)?;
        let batch = env.batch();
        if batch.final_observations.rows() > 0
            && (0..batch.len()).any(|row| batch.terminated[row] || batch.truncated[row])
        {
            info.set_item(
                intern!(py, "final_obs"),
                received::copy::<u8>(py, &batch.final_observations, &self.envs.shape)?,
            )?;
        }
        let rewards = received::whole_numbers(py, &batch.rewards);
        let terminated = PyArray1::from_slice(py, &batch.terminated);
        let truncated = PyArray1::from_slice(py, &batch.truncated);
        Ok((rewards, terminated, truncated, info))
    }

    /// Moves observations to a NumPy array, which owns their memory from now on.
    fn observations<'py>(
        &self,
        py: Python<'py>,
        observations: ObservationBuffer,
    ) -> PyResult<Bound<'py, PyArrayDyn<u8>>> {
        received::share(py, observations, &self.envs.shape, &self.spares)
    }
}
