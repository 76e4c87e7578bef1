//! The environments of one of several processes.

use std::ops::Range;

use ale::RgbImage;
use algorithms::VectorSpec;
use rl_env::{Actions, AutoresetMode, Batch, ResetSeeds, Space, VectorEnv, VectorError};

use super::Environments;

/// A consecutive part of all training environments. Ids, tasks and the snapshots to restore cover all environments;
/// everything else covers only this part.
pub(super) struct Share {
    own: Box<dyn Environments>,
    /// The ids of these environments.
    envs: Range<usize>,
    tasks: Vec<String>,
    /// The task of each environment of all processes.
    task_ids: Vec<usize>,
    /// The last batch, with the ids of all environments.
    batch: Batch,
}

impl Share {
    /// Creates the share `own`, with the ids `envs`, of the environments that `spec` describes.
    pub(super) fn new(own: Box<dyn Environments>, envs: Range<usize>, spec: &VectorSpec) -> Self {
        let mut share = Self {
            batch: own.batch().clone(),
            own,
            envs,
            tasks: spec.tasks.iter().map(|task| task.name.clone()).collect(),
            task_ids: spec.task_ids.clone(),
        };
        share.note();
        share
    }

    /// Copies the last batch of this process's environments.
    fn note(&mut self) -> &Batch {
        self.batch.clone_from(self.own.batch());
        self.batch.env_ids.iter_mut().for_each(|env| *env += self.envs.start);
        &self.batch
    }
}

impl VectorEnv for Share {
    fn num_envs(&self) -> usize {
        self.own.num_envs()
    }

    fn batch_size(&self) -> usize {
        self.own.batch_size()
    }

    fn single_observation_space(&self) -> &Space {
        self.own.single_observation_space()
    }

    fn action_spaces(&self) -> &[Space] {
        self.own.action_spaces()
    }

    fn tasks(&self) -> &[String] {
        &self.tasks
    }

    fn task_ids(&self) -> &[usize] {
        &self.task_ids
    }

    fn autoreset_mode(&self) -> AutoresetMode {
        self.own.autoreset_mode()
    }

    fn reset(&mut self, seeds: ResetSeeds<'_>) -> Result<&Batch, VectorError> {
        let seeds: Vec<Option<u64>> = self.envs.clone().map(|env| seeds.of(env)).collect();
        self.own.reset(ResetSeeds::Each(&seeds))?;
        Ok(self.note())
    }

    fn send(&mut self, actions: Actions<'_>) -> Result<(), VectorError> {
        self.own.send(actions)
    }

    fn recv(&mut self) -> Result<&Batch, VectorError> {
        self.own.recv()?;
        Ok(self.note())
    }

    fn batch(&self) -> &Batch {
        &self.batch
    }

    fn snapshot(&self) -> Result<Vec<u8>, VectorError> {
        self.own.snapshot()
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<&Batch, VectorError> {
        self.own.restore(&vector::part_of_snapshot(snapshot, self.envs.clone())?)?;
        Ok(self.note())
    }
}

impl Environments for Share {
    fn send_to(&mut self, actions: Actions<'_>, env_ids: &[usize]) -> Result<(), VectorError> {
        let ids: Vec<usize> = env_ids.iter().map(|env| env - self.envs.start).collect();
        self.own.send_to(actions, &ids)
    }

    fn screen(&self, env: usize) -> Result<Option<RgbImage>, VectorError> {
        self.own.screen(env - self.envs.start)
    }

    /// Has no effect on environments of other processes.
    fn limit_steps(&mut self, env: usize, steps: Option<u64>) -> Result<(), VectorError> {
        if self.envs.contains(&env) { self.own.limit_steps(env - self.envs.start, steps) } else { Ok(()) }
    }
}
