use std::error::Error;
use std::iter;
use std::num::NonZeroUsize;

use rl_env::{BoxedEnv, Env, Registry, RegistryError, interrupt};

use super::{PoolVectorEnv, check_memory};
use crate::options::check_num_envs;
use crate::{BuildError, PoolOptions};

impl<E: Env + 'static> PoolVectorEnv<E> {
    /// Creates `num_workers * envs_per_worker` copies of an environment, stepped by `num_workers` threads. `factory`
    /// builds a copy from its index; `task` is the name of their task. Copies are not bound to threads.
    ///
    /// An error of the factory becomes [`BuildError::Factory`] with the index of the copy.
    pub fn of_copies<F: Into<Box<dyn Error + Send + Sync>>>(
        task: &str,
        num_workers: usize,
        envs_per_worker: usize,
        factory: impl FnMut(usize) -> Result<E, F>,
        pool: PoolOptions,
    ) -> Result<Self, BuildError> {
        let pool = PoolOptions { num_threads: num_workers, ..pool };
        Self::of_factory(task, num_workers.saturating_mul(envs_per_worker), factory, pool)
    }

    /// Creates `num_envs` copies of an environment, otherwise as [`of_copies`](Self::of_copies).
    pub fn of_factory<F: Into<Box<dyn Error + Send + Sync>>>(
        task: &str,
        num_envs: usize,
        mut factory: impl FnMut(usize) -> Result<E, F>,
        pool: PoolOptions,
    ) -> Result<Self, BuildError> {
        check_num_envs(num_envs)?;
        let at_least_one = NonZeroUsize::new(num_envs).ok_or(BuildError::NoEnvironments)?;
        let batch_size = pool.batch_size_for(at_least_one)?;
        let first = create(task, 0, &mut factory)?;
        check_memory::<E>(num_envs, batch_size, first.1.observation_space(), pool.autoreset_mode)?;
        let rest = (1..num_envs).map(|env| create(task, env, &mut factory));
        let copies = iter::once(Ok(first)).chain(rest);
        Self::new(copies.collect::<Result<_, _>>()?, pool)
    }
}

/// Creates copy `env` of an environment.
fn create<E, F: Into<Box<dyn Error + Send + Sync>>>(
    task: &str,
    env: usize,
    factory: &mut impl FnMut(usize) -> Result<E, F>,
) -> Result<(String, E), BuildError> {
    match factory(env) {
        _ if interrupt::poll() => Err(BuildError::Interrupted),
        Ok(copy) => Ok((task.to_owned(), copy)),
        Err(source) => Err(BuildError::Factory { env, task: task.to_owned(), source: source.into() }),
    }
}

impl PoolVectorEnv<BoxedEnv> {
    /// Creates `num_workers * envs_per_worker` copies of a registered environment, as [`of_copies`](Self::of_copies)
    /// does.
    pub fn make(
        registry: &Registry,
        id: &str,
        num_workers: usize,
        envs_per_worker: usize,
        pool: PoolOptions,
    ) -> Result<Self, BuildError> {
        let count = num_workers.saturating_mul(envs_per_worker);
        check_num_envs(count)?;
        let copies = (0..count).map(|_| Ok((id.to_owned(), registry.make(id)?)));
        let copies = copies.collect::<Result<_, RegistryError>>()?;
        Self::new(copies, PoolOptions { num_threads: num_workers, ..pool })
    }
}
