//! Environments in Python.

use ale::RgbImage;
use anyhow::Result;
use gymnasium_workers::{
    BatchOrder, EnvGroup, WorkerOptions, WorkerVectorEnv, WrapperOptions,
};
use rl_env::{Actions, AutoresetMode, VectorError};
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
    let mut options = settings.env_options(false);
    if purpose == Purpose::Evaluation {
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
        autoreset_mode: AutoresetMode::SameStep,
        flatten: true,
        python: settings.python.clone(),
        timeout: settings.timeout,
        ..WorkerOptions::default()
    };
    Ok(Box::new(WorkerVectorEnv::new(&groups, &workers)?))
}

/// Returns the wrapper that ends endless episodes of evaluations.
fn longest_episode() -> WrapperOptions {
    let limit = ("max_episode_steps".to_owned(), LONGEST_EPISODE.into());
    WrapperOptions { name: "gymnasium.wrappers.TimeLimit".to_owned(), kwargs: Map::from_iter([limit]) }
}

impl Environments for WorkerVectorEnv {
    fn send_to(&mut self, actions: Actions<'_>, env_ids: &[usize]) -> Result<(), VectorError> {
        self.send_to(actions, env_ids)
    }

    fn screen(&self, _: usize) -> Result<Option<RgbImage>, VectorError> {
        Ok(None)
    }

    fn limit_steps(&mut self, env: usize, steps: Option<u64>) -> Result<(), VectorError> {
        WorkerVectorEnv::limit_steps(self, env, steps)
    }
}
