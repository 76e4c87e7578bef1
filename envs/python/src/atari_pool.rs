use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ale::roms::{Pip, RomStore};
use ale::{Game, game};
use numpy::{PyArray1, PyArrayDyn, PyReadonlyArray1};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyBytes, PyDict};
use rl_env::{Actions, EnvError, ResetSeeds, VectorEnv};
use vector::AtariVectorEnv;

use crate::errors;
use crate::received::{self, Spares};
use crate::settings::Settings;

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

/// Indices of actions, of either integer type that ale-py accepts.
#[derive(FromPyObject)]
enum ActionIndices<'py> {
    Int32(PyReadonlyArray1<'py, i32>),
    Int64(PyReadonlyArray1<'py, i64>),
}

impl ActionIndices<'_> {
    fn to_vec(&self) -> Vec<i32> {
        match self {
            Self::Int32(indices) => indices.as_array().to_vec(),
            // What does not fit is no action either way, but must not become one by losing its upper half.
            Self::Int64(indices) => {
                let saturated = |&index: &i64| index.clamp(i32::MIN.into(), i32::MAX.into()) as i32;
                indices.as_array().iter().map(saturated).collect()
            }
        }
    }
}

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
        let (pool, options) = (settings.pool()?, settings.options());
        let games: Result<Vec<_>, _> = settings.games.iter().map(|id| game(id)).collect();
        let games = games.map_err(|error| errors::of_ale(&error))?;
        let env = py.detach(|| {
            AtariVectorEnv::of_games(roms(&games, python)?, settings.num_envs, &options, pool)
                .map_err(|error| errors::of_build(&error))
        })?;
        let codes =
            |game: &Game| if options.full_action_space { game.legal_actions } else { game.minimal_actions };
        Ok(Self {
            shape: env.single_observation_space().shape().unwrap_or_default(),
            spares: Arc::default(),
            action_codes: games.iter().flat_map(|game| vec![codes(game); settings.num_envs]).collect(),
            env: Mutex::new(env),
            extra_info: settings.extra_info,
        })
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

    /// Gives one action to each environment of the last batch, in its order, and returns at once.
    fn send(&self, py: Python<'_>, actions: ActionIndices<'_>) -> PyResult<()> {
        let actions = actions.to_vec();
        let env = &mut *self.lock(py);
        wait(py, env, |env| env.send(Actions::Discrete(&actions)))
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

    /// The complete state of every environment.
    fn snapshot<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let env = &mut *self.lock(py);
        let state = wait(py, env, |env| env.snapshot())?;
        Ok(PyBytes::new(py, &state))
    }

    /// Puts a state from `snapshot` back and reports it.
    fn restore<'py>(&self, py: Python<'py>, state: &[u8]) -> PyResult<ResetBatch<'py>> {
        let env = &mut *self.lock(py);
        wait(py, env, |env| env.restore(state).map(drop))?;
        let info = self.info(py, env)?;
        Ok((self.observations(py, env)?, info))
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
        let observations = env.take_observations(spare).map_err(|error| errors::of_env(&error))?;
        received::share(py, observations, &self.shape, &self.spares)
    }

    /// What is reported beside observations, rewards and flags.
    fn info<'py>(&self, py: Python<'py>, env: &AtariVectorEnv) -> PyResult<Bound<'py, PyDict>> {
        let (batch, infos) = (env.batch(), env.infos());
        let info = PyDict::new(py);
        let column = |name, values: Vec<i32>| info.set_item(name, PyArray1::from_vec(py, values));
        column(intern!(py, "env_id"), batch.env_ids.iter().map(|&env| env as i32).collect())?;
        column(intern!(py, "lives"), infos.iter().map(|info| info.lives).collect())?;
        column(intern!(py, "frame_number"), infos.iter().map(|info| info.frame_number as i32).collect())?;
        let frames = infos.iter().map(|info| info.episode_frame_number as i32);
        column(intern!(py, "episode_frame_number"), frames.collect())?;
        if self.extra_info {
            let games = env.task_ids();
            column(intern!(py, "game_id"), batch.env_ids.iter().map(|&env| games[env] as i32).collect())?;
            info.set_item(intern!(py, "raw_reward"), received::whole_numbers(py, &batch.raw_rewards))?;
        }
        Ok(info)
    }
}

/// Does something that may take a while without holding the interpreter.
fn wait<T: Send>(
    py: Python<'_>,
    env: &mut AtariVectorEnv,
    call: impl FnOnce(&mut AtariVectorEnv) -> Result<T, EnvError> + Send,
) -> PyResult<T> {
    py.detach(|| call(env)).map_err(|error| errors::of_env(&error))
}

/// A game with its ROM.
type GameAndRom = (&'static Game, Arc<[u8]>);

/// The games with their ROMs. Those that are missing are fetched.
fn roms(games: &[&'static Game], python: &str) -> PyResult<Vec<GameAndRom>> {
    let pip = Pip::new(|line| eprintln!("ale_train: {line}")).with_interpreter(python);
    let with_rom = |game: &'static Game| Ok((game, RomStore::locate(None)?.obtain(game.id, Some(&pip))?));
    games.iter().map(|game| with_rom(game)).collect::<Result<_, _>>().map_err(|error| errors::of_rom(&error))
}
