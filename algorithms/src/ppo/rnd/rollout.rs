use rl_env::{AutoresetMode, Batch};
use serde::{Deserialize, Serialize};

use super::frames::Frames;
use crate::experience::batch_reader::{BatchRow, Observed, rows};

/// The steps of a rollout as intrinsic rewards need them, besides those that all learners store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct RndRollout {
    /// One for each environment.
    envs: Vec<EnvSteps>,
}

/// The steps of an environment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct EnvSteps {
    /// The intrinsic value of the observation of each step that has begun.
    values: Vec<f32>,
    /// The newest frame after each complete step.
    frames: Vec<u8>,
    /// The intrinsic value of the observation after the last step of the rollout.
    last_value: f32,
}

impl RndRollout {
    pub(super) fn new(num_envs: usize) -> Self {
        Self { envs: vec![EnvSteps::default(); num_envs] }
    }

    /// Begins a step of each of some environments, given the intrinsic values of their observations.
    pub(super) fn begin(&mut self, envs: &[usize], values: &[f32]) {
        for (&env, &value) in envs.iter().zip(values) {
            self.envs[env].values.push(value);
        }
    }

    /// Ends the steps of a batch. The frame after a step is that of its own episode, even if the environment has been
    /// reset.
    pub(super) fn end(&mut self, batch: &Batch, mode: AutoresetMode, frames: Frames) {
        let observed = match mode {
            AutoresetMode::SameStep => Observed::last_of(batch),
            AutoresetMode::NextStep | AutoresetMode::Disabled => Observed::of(batch),
        };
        for BatchRow { row, env } in rows(batch) {
            self.envs[env].frames.extend_from_slice(frames.newest(observed.observation(row)));
        }
    }

    /// Returns true if an environment has completed `num_steps` steps.
    pub(super) fn is_complete(&self, env: usize, num_steps: usize, frames: Frames) -> bool {
        let EnvSteps { values, frames: stored, .. } = &self.envs[env];
        values.len() == num_steps && stored.len() == num_steps * frames.bytes()
    }

    /// Stores the intrinsic value of the observation after the last step of an environment.
    pub(super) fn set_last_value(&mut self, env: usize, value: f32) {
        self.envs[env].last_value = value;
    }

    /// Returns the newest frame after a step of an environment.
    pub(super) fn frame(&self, env: usize, step: usize, frames: Frames) -> &[u8] {
        &self.envs[env].frames[step * frames.bytes()..][..frames.bytes()]
    }

    /// Returns the intrinsic values of the observations of an environment.
    pub(super) fn values(&self, env: usize) -> &[f32] {
        &self.envs[env].values
    }

    /// Returns the intrinsic value of the observation after the last step of an environment.
    pub(super) fn last_value(&self, env: usize) -> f32 {
        self.envs[env].last_value
    }

    /// Removes all steps.
    pub(super) fn clear(&mut self) {
        self.envs.fill(EnvSteps::default());
    }

    /// Returns true if there are as many environments as in `other`.
    pub(super) fn has_shape_of(&self, other: &Self) -> bool {
        self.envs.len() == other.envs.len()
    }
}
