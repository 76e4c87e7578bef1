use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use numpy::{PyArray1, PyArray2, PyArray3, PyArrayDyn, PyArrayMethods, PyReadonlyArray1};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyBytes, PyDict};
use rl_env::{ResetSeeds, VectorEnv, VectorError};
use vector::AtariVectorEnv;

use crate::actions::ActionArray;
use crate::received::{self, Spares};
use crate::settings::Settings;
use crate::{errors, info};

/// Observations and info.
type ResetBatch<'py> = (Bound<'py, PyArrayDyn<u8>>, Bound<'py, PyDict>);

/// Observations, rewards, terminations, truncations and info, as Gymnasium orders them.
type StepBatch<'py> = (
    Bound<'py, PyArrayDyn<u8>>,
    Bound<'py, PyArray1<i32>>,
    Bound<'py, PyArray1<bool>>,
    Bound<'py, PyArray1<bool>>,
    Bound<'py, PyDict>,
);

/// Atari environments on a work-stealing pool.
///
/// Threads may share it: calls come one after another. All of them release the interpreter's lock while they wait.
#[pyclass(frozen, module = "ale_train._native")]
pub(crate) struct AtariPool {
    env: Mutex<AtariVectorEnv>,
    /// The shape of one observation.
    shape: Vec<usize>,
    spares: Arc<Spares>,
    /// The codes of every environment's actions.
    action_codes: Vec<&'static [u8]>,
    extra_info: bool,
}

#[pymethods]
// PyO3 hands arguments over by value.
#[allow(clippy::needless_pass_by_value)]
impl AtariPool {
    /// Environments as the settings, a dictionary, say. ROMs that are missing are fetched with the pip of `python`.
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

    /// Threads that step environments.
    #[getter]
    fn num_threads(&self, py: Python<'_>) -> usize {
        self.lock(py).num_threads()
    }

    /// The codes of every environment's actions.
    #[getter]
    fn action_codes(&self) -> Vec<Vec<u8>> {
        self.action_codes.iter().map(|codes| codes.to_vec()).collect()
    }

    /// The shape of one observation.
    #[getter]
    fn observation_shape(&self) -> Vec<usize> {
        self.shape.clone()
    }

    /// Resets every environment, or those that `mask` selects: in their order each with its seed, or with its random
    /// numbers going on.
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

    /// Gives one action, or a sequence of `lengths[i]` actions, to each environment of the last batch, or of `env_ids`,
    /// in this order, and returns at once.
    #[pyo3(signature = (actions, env_ids = None, lengths = None))]
    fn send(
        &self,
        py: Python<'_>,
        actions: ActionArray<'_>,
        env_ids: Option<Vec<usize>>,
        lengths: Option<Vec<usize>>,
    ) -> PyResult<()> {
        let actions = actions.to_own();
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

    /// Lets these environments start new episodes, each with its seed or with its random numbers going on, and returns at
    /// once.
    fn send_reset(&self, py: Python<'_>, env_ids: Vec<usize>, seeds: Vec<Option<u64>>) -> PyResult<()> {
        let env = &mut *self.lock(py);
        wait(py, env, |env| env.send_reset(&env_ids, ResetSeeds::Each(&seeds)))
    }

    /// Waits for the next batch.
    fn recv<'py>(&self, py: Python<'py>) -> PyResult<StepBatch<'py>> {
        let env = &mut *self.lock(py);
        wait(py, env, |env| env.recv().map(drop))?;
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

    /// The complete state of every environment, or of chosen ones.
    #[pyo3(signature = (env_ids = None))]
    fn snapshot<'py>(&self, py: Python<'py>, env_ids: Option<Vec<usize>>) -> PyResult<Bound<'py, PyBytes>> {
        let env = &mut *self.lock(py);
        let state = wait(py, env, |env| match env_ids {
            None => env.snapshot(),
            Some(env_ids) => env.snapshot_envs(&env_ids),
        })?;
        Ok(PyBytes::new(py, &state))
    }

    /// Puts a state from `snapshot` back, into all environments or into chosen ones, and reports it.
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

    /// The picture on the screen of an environment: an array of shape `(height, width, 3)`.
    fn render<'py>(&self, py: Python<'py>, env_id: usize) -> PyResult<Bound<'py, PyArray3<u8>>> {
        let image = self.lock(py).render(env_id).map_err(|error| errors::of_vector(&error))?;
        PyArray1::from_vec(py, image.pixels).reshape([image.height, image.width, 3])
    }

    /// The RAM of the environments of the last batch, before anything is sent to them: `(rows, 128)`.
    fn ram<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<u8>>> {
        let env = self.lock(py);
        let ids = &env.batch().env_ids;
        let rams = ids.iter().map(|&id| env.with_env(id, |env| env.ale().ram().to_vec()));
        let rams = rams.collect::<Result<Vec<_>, _>>().map_err(|error| errors::of_vector(&error))?;
        Ok(PyArray2::from_vec2(py, &rams)?)
    }
}

impl AtariPool {
    /// The environments. Waiting for another thread's call does not hold the interpreter.
    fn lock(&self, py: Python<'_>) -> MutexGuard<'_, AtariVectorEnv> {
        // A panic while the lock was held has left the environments as an error would have.
        self.env.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
    }

    /// The observations of the last batch, for good: their memory is Python's now.
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

    /// What is reported beside observations, rewards and flags.
    fn info<'py>(&self, py: Python<'py>, env: &AtariVectorEnv) -> PyResult<Bound<'py, PyDict>> {
        let info = info::of_ale_py(py, env)?;
        if self.extra_info {
            info::add_extra(&info, env)?;
        }
        Ok(info)
    }
}

/// Does something that may take a while without holding the interpreter.
fn wait<T: Send>(
    py: Python<'_>,
    env: &mut AtariVectorEnv,
    call: impl FnOnce(&mut AtariVectorEnv) -> Result<T, VectorError> + Send,
) -> PyResult<T> {
    py.detach(|| call(env)).map_err(|error| errors::of_vector(&error))
}
