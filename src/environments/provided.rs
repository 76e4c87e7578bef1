//! Environments that the process around the program provides, such as a vector environment of a Python program.

use std::cell::RefCell;

use ale::RgbImage;
use anyhow::{Context, Result};
use rl_env::{Actions, AutoresetMode, Batch, ResetSeeds, Space, VectorEnv, VectorError, snapshot};

use super::Environments;

/// The beginning of the names of provided environments.
pub(crate) const PREFIX: &str = "python:__vector__:";

/// Builds the environments.
pub type Provider = Box<dyn FnOnce() -> Result<Box<dyn VectorEnv>, String> + Send>;

thread_local! {
    static PROVIDER: RefCell<Option<Provider>> = const { RefCell::new(None) };
}

/// Provides the environments of the next run on this thread.
pub(crate) fn provide(provider: Provider) {
    PROVIDER.set(Some(provider));
}

/// Returns the provided environments.
pub(super) fn build(name: &str) -> Result<Box<dyn Environments>> {
    let missing = || {
        let name = name.strip_prefix(PREFIX).unwrap_or(name);
        format!("{name} is an object of a Python program, which alone can continue or evaluate its training")
    };
    let provider = PROVIDER.take().with_context(missing)?;
    let envs = provider().map_err(anyhow::Error::msg)?;
    Ok(Box::new(Provided { envs, batches: 0 }))
}

/// Environments whose state cannot be saved: episodes start anew in a resumed run.
struct Provided {
    envs: Box<dyn VectorEnv>,
    /// The number of batches received, from which the seeds of new episodes follow.
    batches: u64,
}

impl VectorEnv for Provided {
    fn num_envs(&self) -> usize {
        self.envs.num_envs()
    }

    fn batch_size(&self) -> usize {
        self.envs.batch_size()
    }

    fn single_observation_space(&self) -> &Space {
        self.envs.single_observation_space()
    }

    fn action_spaces(&self) -> &[Space] {
        self.envs.action_spaces()
    }

    fn tasks(&self) -> &[String] {
        self.envs.tasks()
    }

    fn task_ids(&self) -> &[usize] {
        self.envs.task_ids()
    }

    fn autoreset_mode(&self) -> AutoresetMode {
        self.envs.autoreset_mode()
    }

    fn reset(&mut self, seeds: ResetSeeds<'_>) -> Result<&Batch, VectorError> {
        self.envs.reset(seeds)
    }

    fn send(&mut self, actions: Actions<'_>) -> Result<(), VectorError> {
        self.envs.send(actions)
    }

    fn recv(&mut self) -> Result<&Batch, VectorError> {
        self.batches += 1;
        self.envs.recv()
    }

    fn batch(&self) -> &Batch {
        self.envs.batch()
    }

    /// Returns the first seed of new episodes.
    fn snapshot(&self) -> Result<Vec<u8>, VectorError> {
        Ok(snapshot::encode(&self.batches.wrapping_mul(self.num_envs() as u64)))
    }

    fn restore(&mut self, bytes: &[u8]) -> Result<&Batch, VectorError> {
        self.envs.reset(ResetSeeds::From(snapshot::decode_vector_state(bytes)?))
    }
}

impl Environments for Provided {
    fn send_to(&mut self, _: Actions<'_>, _: &[usize]) -> Result<(), VectorError> {
        Err(VectorError::OutOfOrder("the environments cannot be stepped one by one"))
    }

    fn screen(&self, _: usize) -> Result<Option<RgbImage>, VectorError> {
        Ok(None)
    }

    fn limit_steps(&mut self, _: usize, steps: Option<u64>) -> Result<(), VectorError> {
        match steps {
            None => Ok(()),
            Some(_) => Err(VectorError::OutOfOrder("the steps of a single environment cannot be limited")),
        }
    }

    fn why_state_cannot_be_saved(&self) -> Option<String> {
        Some("the environments are an object of a Python program".to_owned())
    }
}
