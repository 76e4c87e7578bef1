use std::ops::Range;

use ale::RgbImage;
use rl_env::{Actions, EnvError, VectorEnv, VectorError};
use vector::{AtariVectorEnv, PoolVectorEnv};

use super::padded::Padded;
use super::self_play::Opponents;

/// A vector environment with screens, of which some environments can be stepped alone.
pub(crate) trait Environments: VectorEnv {
    /// Sends one action to each of the given environments, none of which may be stepping, and returns at once.
    fn send_to(&mut self, actions: Actions<'_>, env_ids: &[usize]) -> Result<(), VectorError>;

    /// Returns the screen of an environment that is not stepping, if it has one.
    fn screen(&self, env: usize) -> Result<Option<RgbImage>, VectorError>;

    /// Returns the number of steps in a second at the usual speed, if it is known.
    fn steps_per_second(&self, _env: usize) -> Result<Option<f64>, VectorError> {
        Ok(None)
    }

    /// Limits the number of further steps of an environment, after which it [rests](PoolVectorEnv::limit_steps).
    fn limit_steps(&mut self, env: usize, steps: Option<u64>) -> Result<(), VectorError>;

    /// Returns why [`snapshot`](VectorEnv::snapshot) would not contain the environments' state. Not called between
    /// `send` and `recv`.
    fn why_state_cannot_be_saved(&self) -> Option<String> {
        None
    }

    /// Returns why this snapshot lacks the environments' state; the environments must then be reset.
    fn why_state_was_lost(&self, _snapshot: &[u8]) -> Option<String> {
        None
    }

    /// Joins the snapshots of the parts of all processes, in the order of their environments.
    fn join_snapshots(&self, parts: &[Vec<u8>]) -> Result<Vec<u8>, VectorError> {
        vector::join_snapshots(parts)
    }

    /// Returns the part of a snapshot that belongs to some environments.
    fn part_of_snapshot(&self, snapshot: &[u8], envs: Range<usize>) -> Result<Vec<u8>, VectorError> {
        vector::part_of_snapshot(snapshot, envs)
    }

    /// Returns the opponents of the agent in games of several players.
    fn opponents(&mut self) -> Option<&mut Opponents> {
        None
    }

    /// Returns true if an environment has failed in a step. From then on `recv` returns no results of environments: the
    /// episodes are truncated where they were. Snapshots do not hold the state of the environments.
    fn has_failed(&self) -> bool {
        false
    }
}

impl Environments for AtariVectorEnv {
    fn send_to(&mut self, actions: Actions<'_>, env_ids: &[usize]) -> Result<(), VectorError> {
        self.send_to(actions, env_ids)
    }

    fn screen(&self, env: usize) -> Result<Option<RgbImage>, VectorError> {
        self.render(env).map(Some)
    }

    fn limit_steps(&mut self, env: usize, steps: Option<u64>) -> Result<(), VectorError> {
        PoolVectorEnv::limit_steps(self, env, steps)
    }
}

impl Environments for PoolVectorEnv<Padded> {
    fn send_to(&mut self, actions: Actions<'_>, env_ids: &[usize]) -> Result<(), VectorError> {
        self.send_to(actions, env_ids)
    }

    fn screen(&self, env: usize) -> Result<Option<RgbImage>, VectorError> {
        let drawn = self.with_env(env, Padded::draw)?;
        drawn.map_err(|error| VectorError::Env { env, error: EnvError::Failed(error.to_string()) })
    }

    fn steps_per_second(&self, env: usize) -> Result<Option<f64>, VectorError> {
        self.with_env(env, Padded::frames_per_second)
    }

    fn limit_steps(&mut self, env: usize, steps: Option<u64>) -> Result<(), VectorError> {
        PoolVectorEnv::limit_steps(self, env, steps)
    }
}
