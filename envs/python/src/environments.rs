//! The environments that calls from Python and from XLA share.

use std::sync::{Mutex, MutexGuard, PoisonError};

use ale::AtariEnv;
use pyo3::{PyResult, Python};
use rl_env::{Env, ResetSeeds, VectorEnv, VectorError};
use vector::PoolVectorEnv;

use crate::{errors, signals};

/// Environments that one thread at a time may use.
///
/// No Python code may run while they are locked, except in [`wait`](Self::wait): a signal handler might interrupt it,
/// use the environments, and wait for the lock forever.
pub(crate) struct Environments<E: Env + 'static = AtariEnv> {
    /// The shape of one observation; empty if it is not one array.
    pub(crate) shape: Vec<usize>,
    /// The number of rows of a batch.
    pub(crate) rows: usize,
    /// The number of bytes in an observation.
    pub(crate) row_bytes: usize,
    /// True if info has more entries than ale-py's.
    pub(crate) extra_info: bool,
    state: Mutex<State<E>>,
}

/// The environments and the state that persists between calls.
pub(crate) struct State<E: Env + 'static = AtariEnv> {
    pub(crate) env: PoolVectorEnv<E>,
    /// A seed for each environment, used where the first reset has none; empty after the first reset.
    first_seeds: Vec<u64>,
}

impl<E: Env> Environments<E> {
    /// Shares environments. `first_seeds` has a seed for each environment, used where the first reset has none.
    pub(crate) fn new(env: PoolVectorEnv<E>, first_seeds: Vec<u64>, extra_info: bool) -> Self {
        let observations = &env.batch().observations;
        Self {
            shape: env.single_observation_space().shape().unwrap_or_default(),
            rows: observations.rows(),
            row_bytes: observations.row_bytes(),
            extra_info,
            state: Mutex::new(State { env, first_seeds }),
        }
    }

    /// Locks the environments. Waiting for the call of another thread releases the GIL.
    pub(crate) fn lock(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, State<E>>> {
        signals::lock(py, &self.state)
    }

    /// Calls `call` with the locked state, without the GIL. Handlers of signals run meanwhile and may interrupt the
    /// call.
    pub(crate) fn wait<T: Send>(
        &self,
        py: Python<'_>,
        state: &mut State<E>,
        call: impl FnOnce(&mut State<E>) -> Result<T, VectorError> + Send,
    ) -> PyResult<T> {
        let result = signals::wait_locked(py, &self.state, || call(state))?;
        result.map_err(|error| errors::from_vector(&error))
    }

    /// Locks the environments in a thread without the GIL.
    pub(crate) fn lock_detached(&self) -> MutexGuard<'_, State<E>> {
        // A panic while the lock was held leaves the environments in a valid state, as an error does.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<E: Env> State<E> {
    /// Returns true after the first reset.
    pub(crate) fn was_reset(&self) -> bool {
        self.first_seeds.is_empty()
    }

    /// Returns the environments in flight.
    pub(crate) fn in_flight(&self) -> Vec<usize> {
        let in_flight = self.env.in_flight();
        (0..in_flight.len()).filter(|&env| in_flight[env]).collect()
    }

    /// Resets all environments, or those selected by `mask`, with a seed for each of them.
    pub(crate) fn reset(&mut self, seeds: &[Option<u64>], mask: Option<&[bool]>) -> Result<(), VectorError> {
        // The first reset includes every environment.
        let seeds = self.with_first_seeds(0..seeds.len(), seeds);
        match mask {
            None => self.env.reset(ResetSeeds::Each(&seeds)).map(drop)?,
            Some(mask) => self.env.reset_masked(mask, ResetSeeds::Each(&seeds)).map(drop)?,
        }
        self.first_seeds.clear();
        Ok(())
    }

    /// Resets these environments without waiting.
    pub(crate) fn send_reset(&mut self, env_ids: &[usize], seeds: &[Option<u64>]) -> Result<(), VectorError> {
        let seeds = self.with_first_seeds(env_ids.iter().copied(), seeds);
        self.env.send_reset(env_ids, ResetSeeds::Each(&seeds))?;
        self.first_seeds.clear();
        Ok(())
    }

    /// Restores a snapshot to all or some environments.
    pub(crate) fn restore(&mut self, snapshot: &[u8], env_ids: Option<&[usize]>) -> Result<(), VectorError> {
        match env_ids {
            None => self.env.restore(snapshot).map(drop)?,
            Some(env_ids) => self.env.restore_envs(snapshot, env_ids).map(drop)?,
        }
        self.first_seeds.clear();
        Ok(())
    }

    /// Returns the seeds of environments. Before the first reset, missing ones are replaced with the first seeds.
    fn with_first_seeds(
        &self,
        env_ids: impl Iterator<Item = usize>,
        seeds: &[Option<u64>],
    ) -> Vec<Option<u64>> {
        let first = |env: usize| self.first_seeds.get(env).copied();
        seeds.iter().zip(env_ids).map(|(seed, env)| seed.or_else(|| first(env))).collect()
    }
}
