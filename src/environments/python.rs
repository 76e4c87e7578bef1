//! Environments in Python.

use ale::RgbImage;
use anyhow::Result;
use gymnasium_workers::{BatchOrder, EnvGroup, RgbFrame, WorkerOptions, WorkerVectorEnv, WrapperOptions};
use rl_env::{Actions, AutoresetMode, Batch, ResetSeeds, Space, VectorEnv, VectorError, snapshot};
use serde::{Deserialize, Serialize};
use serde_json::Map;

use super::{Environments, LONGEST_EPISODE, Purpose};
use crate::config::GymnasiumSettings;

/// Builds environments, given the name and the number of each.
pub(super) fn build(
    groups: &[(&str, usize)],
    settings: &GymnasiumSettings,
    purpose: Purpose,
    workers: usize,
    batch_size: usize,
) -> Result<Box<dyn Environments>> {
    let are_shown = purpose == Purpose::Showing;
    let mut options = settings.env_options(are_shown);
    if purpose != Purpose::Training {
        options.wrappers.push(longest_episode());
    }
    let groups: Vec<EnvGroup> = groups
        .iter()
        .filter(|(_, num_envs)| *num_envs > 0)
        .map(|&(name, num_envs)| EnvGroup { name: name.to_owned(), num_envs, options: options.clone() })
        .collect();
    let workers = WorkerOptions {
        workers,
        batch_size,
        batch_order: BatchOrder::InTurn,
        autoreset_mode: if are_shown { AutoresetMode::Disabled } else { AutoresetMode::SameStep },
        flatten: true,
        python: settings.python.clone(),
        timeout: settings.timeout,
        ..WorkerOptions::default()
    };
    let envs = WorkerVectorEnv::new(&groups, &workers)?;
    Ok(Box::new(PythonEnvironments { envs, are_shown, batches: 0 }))
}

/// Returns the wrapper that ends endless episodes of evaluations.
fn longest_episode() -> WrapperOptions {
    let limit = ("max_episode_steps".to_owned(), LONGEST_EPISODE.into());
    WrapperOptions { name: "gymnasium.wrappers.TimeLimit".to_owned(), kwargs: Map::from_iter([limit]) }
}

/// Environments in Python whose episodes start anew in a resumed run if their state cannot be saved.
struct PythonEnvironments {
    envs: WorkerVectorEnv,
    /// True if they render frames.
    are_shown: bool,
    /// The number of batches received, from which the seeds of new episodes follow.
    batches: u64,
}

/// A snapshot.
#[derive(Serialize, Deserialize)]
enum Snapshot {
    /// The state of all environments.
    State(Vec<u8>),
    /// The first seed of new episodes.
    Restart(u64),
}

impl VectorEnv for PythonEnvironments {
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

    fn snapshot(&self) -> Result<Vec<u8>, VectorError> {
        let saved = match self.envs.snapshot() {
            Ok(state) => Snapshot::State(state),
            Err(VectorError::Env { .. }) if self.envs.is_usable() => {
                Snapshot::Restart(self.batches.wrapping_mul(self.num_envs() as u64))
            }
            Err(error) => return Err(error),
        };
        Ok(snapshot::encode(&saved))
    }

    fn restore(&mut self, bytes: &[u8]) -> Result<&Batch, VectorError> {
        match snapshot::decode(bytes).map_err(|error| VectorError::BadSnapshot(error.to_string()))? {
            Snapshot::State(state) => self.envs.restore(&state),
            Snapshot::Restart(seed) => self.envs.reset(ResetSeeds::From(seed)),
        }
    }
}

impl Environments for PythonEnvironments {
    fn send_to(&mut self, actions: Actions<'_>, env_ids: &[usize]) -> Result<(), VectorError> {
        self.envs.send_to(actions, env_ids)
    }

    fn screen(&self, env: usize) -> Result<Option<RgbImage>, VectorError> {
        if !self.are_shown {
            return Ok(None);
        }
        let RgbFrame { height, width, pixels } = self.envs.render(env)?;
        Ok(Some(RgbImage { height, width, pixels }))
    }

    fn frames_per_second(&self, env: usize) -> Result<Option<f64>, VectorError> {
        self.envs.render_fps(env)
    }

    fn limit_steps(&mut self, env: usize, steps: Option<u64>) -> Result<(), VectorError> {
        self.envs.limit_steps(env, steps)
    }

    fn unsaved(&self) -> Option<String> {
        match self.envs.snapshot() {
            Err(error @ VectorError::Env { .. }) if self.envs.is_usable() => Some(error.to_string()),
            _ => None,
        }
    }
}
