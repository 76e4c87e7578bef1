//! Atari games of several players as a Python object.

use std::sync::{Arc, Mutex, MutexGuard};

use numpy::{PyArray1, PyArray3, PyArrayMethods, PyReadonlyArray1};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use rl_env::{Batch, ResetSeeds, VectorEnv, VectorError};
use vector::{AtariPlayersVectorEnv, PoolOptions};

use crate::actions::OwnActions;
use crate::columns::Rows;
use crate::received::{self, ResetBatch, Spares, StepBatch};
use crate::settings::Settings;
use crate::{errors, info, packages, signals};

/// Atari environments of several players on a work-stealing pool. Each player is a row of a batch.
///
/// Threads may share it: calls are serialised. All calls release the GIL while they wait.
#[pyclass(frozen, module = "ale_train._native")]
pub(crate) struct PlayersPool {
    envs: Mutex<AtariPlayersVectorEnv>,
    /// A seed for each environment, used where the first reset has none; empty after the first reset.
    first_seeds: Mutex<Vec<u64>>,
    spares: Arc<Spares>,
    shape: Vec<usize>,
    extra_info: bool,
    players: usize,
    /// The action codes of each environment.
    action_codes: Vec<&'static [u8]>,
}

#[pymethods]
// PyO3 passes arguments by value.
#[allow(clippy::needless_pass_by_value)]
impl PlayersPool {
    /// Creates environments of `players` players from a dictionary of settings, in which `batch_size` counts
    /// environments. Missing ROMs are downloaded with the pip of `python`.
    #[new]
    fn new(py: Python<'_>, settings: Settings, players: usize, python: &str) -> PyResult<Self> {
        let pool = settings.pool()?;
        let games = settings.players_games().map_err(|error| errors::from_ale(&error))?;
        let sources = packages::rom_sources(py)?;
        let envs = signals::wait(py, || {
            let groups = settings
                .groups(&games, &sources, &packages::pip(python))
                .map_err(|error| errors::from_rom(&error))?;
            let batch_size = pool.batch_size.saturating_mul(players);
            AtariPlayersVectorEnv::of_groups(groups, players, PoolOptions { batch_size, ..pool })
                .map_err(|error| errors::from_build(&error))
        })??;
        Ok(Self {
            shape: envs.single_observation_space().shape().unwrap_or_default(),
            envs: Mutex::new(envs),
            players,
            action_codes: settings.action_codes(&games, players),
            extra_info: settings.extra_info,
            first_seeds: Mutex::new(settings.first_seeds),
            spares: Arc::new(Spares::new(settings.pinned)),
        })
    }

    /// The action codes of each player of each environment.
    #[getter]
    fn action_codes(&self) -> Vec<Vec<u8>> {
        self.action_codes.iter().flat_map(|codes| vec![codes.to_vec(); self.players]).collect()
    }

    /// The shape of one observation.
    #[getter]
    fn observation_shape(&self) -> Vec<usize> {
        self.shape.clone()
    }

    /// True after the first reset.
    #[getter]
    fn was_reset(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(signals::lock(py, &self.first_seeds)?.is_empty())
    }

    /// The environments in flight.
    #[getter]
    fn in_flight(&self, py: Python<'_>) -> PyResult<Vec<usize>> {
        let envs = self.lock(py)?;
        let in_flight = envs.in_flight();
        Ok((0..in_flight.len()).filter(|&env| in_flight[env]).collect())
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
        let seeds = self.with_first_seeds(py, 0..seeds.len(), &seeds)?;
        let (observations, .., info) = self.batch(py, |envs| match mask {
            None => envs.reset(ResetSeeds::Each(&seeds)).map(drop),
            Some(mask) => envs.reset_masked(&mask, ResetSeeds::Each(&seeds)).map(drop),
        })?;
        signals::lock(py, &self.first_seeds)?.clear();
        Ok((observations, info))
    }

    /// Sends an action to each player of the last batch, or to each player of these environments, without waiting.
    #[pyo3(signature = (actions, env_ids = None))]
    fn send(&self, py: Python<'_>, actions: OwnActions, env_ids: Option<Vec<usize>>) -> PyResult<()> {
        self.wait(py, |envs| match env_ids {
            None => envs.send(actions.as_actions()),
            Some(env_ids) => {
                let players = envs.players();
                let rows =
                    env_ids.iter().flat_map(|env| (0..players).map(move |player| env * players + player));
                envs.send_to(actions.as_actions(), &rows.collect::<Vec<_>>())
            }
        })
    }

    /// Resets these environments without waiting. A seed of `None` continues the random number generator.
    fn send_reset(&self, py: Python<'_>, env_ids: Vec<usize>, seeds: Vec<Option<u64>>) -> PyResult<()> {
        let seeds = self.with_first_seeds(py, env_ids.iter().copied(), &seeds)?;
        self.wait(py, |envs| envs.send_reset(&env_ids, ResetSeeds::Each(&seeds)))?;
        signals::lock(py, &self.first_seeds)?.clear();
        Ok(())
    }

    /// Makes the environments that are not in flight report their state again.
    fn send_report(&self, py: Python<'_>) -> PyResult<()> {
        self.wait(py, AtariPlayersVectorEnv::send_report)
    }

    /// Waits for the next batch.
    fn recv<'py>(&self, py: Python<'py>) -> PyResult<StepBatch<'py>> {
        self.batch(py, |envs| envs.recv().map(drop))
    }

    /// Sends an action to each player of the last batch and waits for the next batch.
    fn step<'py>(&self, py: Python<'py>, actions: OwnActions) -> PyResult<StepBatch<'py>> {
        self.batch(py, |envs| envs.step(actions.as_actions()).map(drop))
    }

    /// Returns the complete state of all environments.
    fn snapshot<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let snapshot = self.wait(py, |envs| envs.snapshot())?;
        Ok(PyBytes::new(py, &snapshot))
    }

    /// Restores a state from `snapshot` and returns it.
    fn restore<'py>(&self, py: Python<'py>, snapshot: &[u8]) -> PyResult<ResetBatch<'py>> {
        let (observations, .., info) = self.batch(py, |envs| envs.restore(snapshot).map(drop))?;
        signals::lock(py, &self.first_seeds)?.clear();
        Ok((observations, info))
    }

    /// Returns the screen of an environment, an array of shape `(height, width, 3)`.
    fn render<'py>(&self, py: Python<'py>, env_id: usize) -> PyResult<Bound<'py, PyArray3<u8>>> {
        let image = self.lock(py)?.render(env_id).map_err(|error| errors::from_vector(&error))?;
        PyArray1::from_vec(py, image.pixels).reshape([image.height, image.width, 3])
    }
}

impl PlayersPool {
    /// Locks the environments. Waiting for the call of another thread releases the GIL.
    fn lock(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, AtariPlayersVectorEnv>> {
        signals::lock(py, &self.envs)
    }

    /// Calls `call` with the locked environments, without the GIL.
    fn wait<T: Send>(
        &self,
        py: Python<'_>,
        call: impl FnOnce(&mut AtariPlayersVectorEnv) -> Result<T, VectorError> + Send,
    ) -> PyResult<T> {
        let envs = &mut *self.lock(py)?;
        let result = signals::wait_locked(py, &self.envs, || call(envs))?;
        result.map_err(|error| errors::from_vector(&error))
    }

    /// Calls `call` and returns the resulting batch. Its observations are moved to a NumPy array.
    fn batch<'py>(
        &self,
        py: Python<'py>,
        call: impl FnOnce(&mut AtariPlayersVectorEnv) -> Result<(), VectorError> + Send,
    ) -> PyResult<StepBatch<'py>> {
        let mut guard = self.lock(py)?;
        let envs = &mut *guard;
        signals::wait_locked(py, &self.envs, || call(envs))?.map_err(|error| errors::from_vector(&error))?;
        let info = self.info(py, envs)?;
        let batch = envs.batch();
        let rewards = received::whole_numbers(py, &batch.rewards);
        let terminated = PyArray1::from_slice(py, &batch.terminated);
        let truncated = PyArray1::from_slice(py, &batch.truncated);
        let spare = self.spares.take(py, batch.len(), batch.observations.row_bytes())?;
        let observations = envs.take_observations(spare).map_err(|error| errors::from_vector(&error))?;
        drop(guard);
        let observations = received::share(py, observations, &self.shape, &self.spares)?;
        Ok((observations, rewards, terminated, truncated, info))
    }

    /// Returns the info of the last batch, which names the environment and the player of each row.
    fn info<'py>(&self, py: Python<'py>, envs: &AtariPlayersVectorEnv) -> PyResult<Bound<'py, PyDict>> {
        let info = info::of_batch(py, &Rows::of_players(envs), self.extra_info)?;
        let batch = envs.batch();
        let ids = || batch.env_ids.iter().map(|&env| envs.shared_and_player(env));
        let env_ids = || received::column(py, ids().map(|(env, _)| env as i32));
        info.set_item(intern!(py, "env_id"), env_ids())?;
        info.set_item(intern!(py, "player"), received::column(py, ids().map(|(_, player)| player as i32)))?;
        let players = PyDict::new(py);
        players.set_item(intern!(py, "env_id"), env_ids())?;
        info.set_item(intern!(py, "players"), players)?;
        if has_final_observations(batch) {
            let last = received::copy::<u8>(py, &batch.final_observations, &self.shape)?;
            info.set_item(intern!(py, "final_obs"), last)?;
        }
        Ok(info)
    }

    /// Returns the seeds of environments. Before the first reset, missing ones are replaced with the first seeds.
    fn with_first_seeds(
        &self,
        py: Python<'_>,
        env_ids: impl Iterator<Item = usize>,
        seeds: &[Option<u64>],
    ) -> PyResult<Vec<Option<u64>>> {
        let first_seeds = signals::lock(py, &self.first_seeds)?;
        let first = |env: usize| first_seeds.get(env).copied();
        Ok(seeds.iter().zip(env_ids).map(|(seed, env)| seed.or_else(|| first(env))).collect())
    }
}

/// Returns true if episodes ended, for all or for one of their players, and the batch has their last observations.
fn has_final_observations(batch: &Batch) -> bool {
    batch.final_observations.rows() > 0
        && (0..batch.len()).any(|row| batch.terminated[row] || batch.truncated[row])
}
