use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use numpy::{PyArray1, PyArray2, PyArray3, PyArrayDyn, PyArrayMethods, PyReadonlyArray1};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyBytes, PyDict};
use rl_env::{ResetSeeds, VectorEnv, VectorError};
use vector::AtariVectorEnv;

use crate::actions::OwnActions;
use crate::received::{self, Spares};
use crate::settings::Settings;
use crate::{errors, info};

/// Observations and info.
type ResetBatch<'py> = (Bound<'py, PyArrayDyn<u8>>, Bound<'py, PyDict>);

/// Observations, rewards, terminations, truncations and info, in Gymnasium's order.
type StepBatch<'py> = (
    Bound<'py, PyArrayDyn<u8>>,
    Bound<'py, PyArray1<i32>>,
    Bound<'py, PyArray1<bool>>,
    Bound<'py, PyArray1<bool>>,
    Bound<'py, PyDict>,
);

/// Atari environments on a work-stealing pool.
///
/// Threads may share it: calls are serialized. All calls release the GIL while they wait.
#[pyclass(frozen, module = "ale_train._native")]
pub(crate) struct AtariPool {
    env: Mutex<AtariVectorEnv>,
    /// The shape of one observation.
    shape: Vec<usize>,
    spares: Arc<Spares>,
    /// The action codes of each environment.
    action_codes: Vec<&'static [u8]>,
    extra_info: bool,
}

#[pymethods]
// PyO3 passes arguments by value.
#[allow(clippy::needless_pass_by_value)]
impl AtariPool {
    /// Creates environments from a dictionary of settings. Missing ROMs are downloaded with the pip of `python`.
    #[new]
    fn new(py: Python<'_>, settings: Settings, python: &str) -> PyResult<Self> {
        let pool = settings.pool()?;
        let games = settings.games().map_err(|error| errors::of_ale(&error))?;
        let env = py.detach(|| {
            let groups = settings.groups(&games, python).map_err(|error| errors::of_rom(&error))?;
            AtariVectorEnv::of_groups(groups, pool).map_err(|error| errors::of_build(&error))
        })?;
        Ok(Self {
            shape: env.single_observation_space().shape().unwrap_or_default(),
            spares: Arc::default(),
            action_codes: settings.action_codes(&games),
            env: Mutex::new(env),
            extra_info: settings.extra_info,
        })
    }

    /// The number of threads that step environments.
    #[getter]
    fn num_threads(&self, py: Python<'_>) -> usize {
        self.lock(py).num_threads()
    }

    /// The action codes of each environment.
    #[getter]
    fn action_codes(&self) -> Vec<Vec<u8>> {
        self.action_codes.iter().map(|codes| codes.to_vec()).collect()
    }

    /// The shape of one observation.
    #[getter]
    fn observation_shape(&self) -> Vec<usize> {
        self.shape.clone()
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
        let env = &mut *self.lock(py);
        wait(py, env, |env| match mask {
            None => env.reset(ResetSeeds::Each(&seeds)).map(drop),
            Some(mask) => env.reset_masked(&mask, ResetSeeds::Each(&seeds)).map(drop),
        })?;
        let info = self.info(py, env)?;
        Ok((self.observations(py, env)?, info))
    }

    /// Sends one action, or a sequence of `lengths[i]` actions, to each environment of the last batch or of `env_ids`, without
    /// waiting.
    #[pyo3(signature = (actions, env_ids = None, lengths = None))]
    fn send(
        &self,
        py: Python<'_>,
        actions: OwnActions,
        env_ids: Option<Vec<usize>>,
        lengths: Option<Vec<usize>>,
    ) -> PyResult<()> {
        let env = &mut *self.lock(py);
        wait(py, env, |env| {
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
        let env = &mut *self.lock(py);
        wait(py, env, |env| env.send_reset(&env_ids, ResetSeeds::Each(&seeds)))
    }

    /// Waits for the next batch.
    fn recv<'py>(&self, py: Python<'py>) -> PyResult<StepBatch<'py>> {
        let env = &mut *self.lock(py);
        wait(py, env, |env| env.recv().map(drop))?;
        self.step_batch(py, env)
    }

    /// Sends one action to each environment of the last batch and waits for the next batch.
    fn step<'py>(&self, py: Python<'py>, actions: OwnActions) -> PyResult<StepBatch<'py>> {
        let env = &mut *self.lock(py);
        wait(py, env, |env| env.step(actions.as_actions()).map(drop))?;
        self.step_batch(py, env)
    }

    /// Returns the complete state of all or some environments.
    #[pyo3(signature = (env_ids = None))]
    fn snapshot<'py>(&self, py: Python<'py>, env_ids: Option<Vec<usize>>) -> PyResult<Bound<'py, PyBytes>> {
        let env = &mut *self.lock(py);
        let state = wait(py, env, |env| match env_ids {
            None => env.snapshot(),
            Some(env_ids) => env.snapshot_envs(&env_ids),
        })?;
        Ok(PyBytes::new(py, &state))
    }

    /// Restores a state from `snapshot` to all or some environments and returns it.
    #[pyo3(signature = (state, env_ids = None))]
    fn restore<'py>(
        &self,
        py: Python<'py>,
        state: &[u8],
        env_ids: Option<Vec<usize>>,
    ) -> PyResult<ResetBatch<'py>> {
        let env = &mut *self.lock(py);
        wait(py, env, |env| match env_ids {
            None => env.restore(state).map(drop),
            Some(env_ids) => env.restore_envs(state, &env_ids).map(drop),
        })?;
        let info = self.info(py, env)?;
        Ok((self.observations(py, env)?, info))
    }

    /// Returns the screen of an environment, an array of shape `(height, width, 3)`.
    fn render<'py>(&self, py: Python<'py>, env_id: usize) -> PyResult<Bound<'py, PyArray3<u8>>> {
        let image = self.lock(py).render(env_id).map_err(|error| errors::of_vector(&error))?;
        PyArray1::from_vec(py, image.pixels).reshape([image.height, image.width, 3])
    }

    /// Returns the RAM of the environments of the last batch, which must not be in flight: `(rows, 128)`.
    fn ram<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<u8>>> {
        let env = self.lock(py);
        let ids = &env.batch().env_ids;
        let rams = ids.iter().map(|&id| env.with_env(id, |env| env.ale().ram().to_vec()));
        let rams = rams.collect::<Result<Vec<_>, _>>().map_err(|error| errors::of_vector(&error))?;
        Ok(PyArray2::from_vec2(py, &rams)?)
    }
}

impl AtariPool {
    /// Locks the environments. Waiting for the call of another thread releases the GIL.
    fn lock(&self, py: Python<'_>) -> MutexGuard<'_, AtariVectorEnv> {
        // A panic while the lock was held leaves the environments in a valid state, as an error does.
        self.env.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the last batch.
    fn step_batch<'py>(&self, py: Python<'py>, env: &mut AtariVectorEnv) -> PyResult<StepBatch<'py>> {
        let info = self.info(py, env)?;
        let batch = env.batch();
        if batch.final_observations.rows() > 0
            && (0..batch.len()).any(|row| batch.terminated[row] || batch.truncated[row])
        {
            info.set_item(
                intern!(py, "final_obs"),
                received::copy(py, &batch.final_observations, &self.shape)?,
            )?;
        }
        let rewards = received::whole_numbers(py, &batch.rewards);
        let terminated = PyArray1::from_slice(py, &batch.terminated);
        let truncated = PyArray1::from_slice(py, &batch.truncated);
        Ok((self.observations(py, env)?, rewards, terminated, truncated, info))
    }

    /// Moves the observations of the last batch to a NumPy array, which owns their memory from now on.
    fn observations<'py>(
        &self,
        py: Python<'py>,
        env: &mut AtariVectorEnv,
    ) -> PyResult<Bound<'py, PyArrayDyn<u8>>> {
        let form = &env.batch().observations;
        let spare = self.spares.take(form.rows(), form.row_bytes());
        let observations = env.take_observations(spare).map_err(|error| errors::of_vector(&error))?;
        received::share(py, observations, &self.shape, &self.spares)
    }

    /// Returns the info of the last batch.
    fn info<'py>(&self, py: Python<'py>, env: &AtariVectorEnv) -> PyResult<Bound<'py, PyDict>> {
        let info = info::of_ale_py(py, env)?;
        if self.extra_info {
            info::add_extra(&info, env)?;
        }
        Ok(info)
    }
}

/// Calls `call` without the GIL.
fn wait<T: Send>(
    py: Python<'_>,
    env: &mut AtariVectorEnv,
    call: impl FnOnce(&mut AtariVectorEnv) -> Result<T, VectorError> + Send,
) -> PyResult<T> {
    py.detach(|| call(env)).map_err(|error| errors::of_vector(&error))
}
