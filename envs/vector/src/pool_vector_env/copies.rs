use std::error::Error;

use rl_env::{BoxedEnv, Env, Registry, RegistryError};

use super::PoolVectorEnv;
use crate::{BuildError, PoolOptions};

impl<E: Env + 'static> PoolVectorEnv<E> {
    /// `num_workers * envs_per_worker` copies of an environment, stepped by `num_workers` threads. `factory` builds
    /// each of them, given its index; `task` is the name of them all. Which thread steps which copy is not fixed.
    ///
    /// A factory's error names the copy.
    pub fn of_copies<F: Into<Box<dyn Error + Send + Sync>>>(
        task: &str,
        num_workers: usize,
        envs_per_worker: usize,
        mut factory: impl FnMut(usize) -> Result<E, F>,
        pool: PoolOptions,
    ) -> Result<Self, BuildError> {
        let copies = (0..num_workers.saturating_mul(envs_per_worker)).map(|env| match factory(env) {
            Ok(copy) => Ok((task.to_owned(), copy)),
            Err(source) => Err(BuildError::Factory { env, task: task.to_owned(), source: source.into() }),
        });
        Self::new(copies.collect::<Result<_, _>>()?, PoolOptions { num_threads: num_workers, ..pool })
    }
}

impl PoolVectorEnv<BoxedEnv> {
    /// `num_workers * envs_per_worker` copies of the environment with this id, as [`of_copies`](Self::of_copies).
    pub fn make(
        registry: &Registry,
        id: &str,
        num_workers: usize,
        envs_per_worker: usize,
        pool: PoolOptions,
    ) -> Result<Self, BuildError> {
        let count = num_workers.saturating_mul(envs_per_worker);
        let copies = (0..count).map(|_| Ok((id.to_owned(), registry.make(id)?)));
        let copies = copies.collect::<Result<_, RegistryError>>()?;
        Self::new(copies, PoolOptions { num_threads: num_workers, ..pool })
    }
}
