use std::error::Error;

use rl_env::{BoxedEnv, Env, Registry, RegistryError};

use super::PoolVectorEnv;
use crate::{BuildError, PoolOptions};

impl<E: Env + 'static> PoolVectorEnv<E> {
    /// Creates `num_workers * envs_per_worker` copies of an environment, stepped by `num_workers` threads. `factory` builds
    /// a copy from its index; `task` is the name of their task. Copies are not bound to threads.
    ///
    /// An error of the factory becomes [`BuildError::Factory`] with the index of the copy.
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
    /// Creates `num_workers * envs_per_worker` copies of a registered environment, as [`of_copies`](Self::of_copies) does.
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
