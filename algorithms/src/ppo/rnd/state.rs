use rl_env::{AutoresetMode, Batch};
use serde::{Deserialize, Serialize};

use super::frames::Frames;
use super::rewards::RewardScale;
use super::rollout::RndRollout;
use crate::networks::observation_statistics::ObservationStatistics;
use crate::{LearnerError, VectorSpec};

/// The part of what acts that belongs to intrinsic rewards.
#[derive(Clone, Debug)]
pub(in crate::ppo) struct Rnd {
    pub(super) frames: Frames,
    /// The number of steps of each environment in a rollout.
    num_steps: usize,
    pub(in crate::ppo) state: RndState,
}

/// The state of [`Rnd`]. The networks are in the state of the training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::ppo) struct RndState {
    /// The statistics by which frames are normalised.
    pub(in crate::ppo) statistics: ObservationStatistics,
    pub(super) rewards: RewardScale,
    pub(super) rollout: RndRollout,
}

impl Rnd {
    pub(in crate::ppo) fn new(frames: Frames, num_steps: usize, spec: &VectorSpec) -> Self {
        let (num_envs, num_tasks) = (spec.num_envs(), spec.tasks.len());
        let state = RndState {
            statistics: ObservationStatistics::new(num_tasks, frames.layout.length()),
            rewards: RewardScale::new(num_envs, num_tasks),
            rollout: RndRollout::new(num_envs),
        };
        Self { frames, num_steps, state }
    }

    /// Begins the steps of some environments, given the intrinsic values of their observations.
    pub(in crate::ppo) fn begin_steps(&mut self, envs: &[usize], values: &[f32]) {
        self.state.rollout.begin(envs, values);
    }

    /// Ends the steps of a batch. If they complete the rollout of an environment, `values` computes the intrinsic
    /// values of the observations of the batch.
    pub(in crate::ppo) fn end_steps(
        &mut self,
        batch: &Batch,
        mode: AutoresetMode,
        values: impl FnOnce() -> Result<Vec<f32>, LearnerError>,
    ) -> Result<(), LearnerError> {
        let Self { frames, num_steps, state: RndState { rollout, .. } } = self;
        rollout.end(batch, mode, *frames);
        let ended = |rollout: &RndRollout, env| rollout.is_complete(env, *num_steps, *frames);
        if !batch.env_ids.iter().any(|&env| ended(rollout, env)) {
            return Ok(());
        }
        for (&env, value) in batch.env_ids.iter().zip(values()?) {
            rollout.set_last_value(env, value);
        }
        Ok(())
    }

    /// Adds the frames after the steps of entries to their statistics. `task` returns the task of an entry.
    pub(super) fn add_frames(&mut self, entries: &[usize], task: impl Fn(usize) -> usize) {
        let values = |&entry: &usize| (task(entry), self.frames.layout.values(self.frame(entry)));
        let moments = self.state.statistics.moments(entries.iter().map(values));
        self.state.statistics.add(&moments);
    }

    /// Returns the intrinsic value of the observation of an entry of the rollout.
    pub(super) fn value(&self, entry: usize) -> f32 {
        self.state.rollout.values(entry / self.num_steps)[entry % self.num_steps]
    }

    /// Returns the intrinsic value of the observation after the last step of an environment.
    pub(super) fn last_value(&self, env: usize) -> f32 {
        self.state.rollout.last_value(env)
    }

    /// Returns the frame after the step of an entry of the rollout.
    pub(super) fn frame(&self, entry: usize) -> &[u8] {
        self.state.rollout.frame(entry / self.num_steps, entry % self.num_steps, self.frames)
    }

    /// Removes the steps of the rollout.
    pub(in crate::ppo) fn clear(&mut self) {
        self.state.rollout.clear();
    }

    /// Returns true if the steps of all environments are complete.
    pub(super) fn is_complete(&self, num_envs: usize) -> bool {
        (0..num_envs).all(|env| self.state.rollout.is_complete(env, self.num_steps, self.frames))
    }

    /// Replaces the state. Returns false if it does not fit the environments and the settings.
    pub(in crate::ppo) fn restore(&mut self, state: RndState) -> bool {
        let RndState { statistics, rewards, rollout } = &self.state;
        let fits = ObservationStatistics::are_alike(Some(&state.statistics), Some(statistics))
            && state.rewards.fits(rewards)
            && state.rollout.has_shape_of(rollout);
        self.state = state;
        fits
    }
}
