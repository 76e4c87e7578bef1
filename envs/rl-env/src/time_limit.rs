use serde::{Deserialize, Serialize};

use crate::{Action, Env, EnvError, Step, snapshot};

/// A wrapper that truncates episodes after a number of steps: Gymnasium's `TimeLimit`.
///
/// If a step terminates the episode and reaches the limit, Gymnasium sets both flags; here only
/// [`Step::terminated`] is set.
#[derive(Clone, Debug)]
pub struct TimeLimit<E> {
    env: E,
    max_episode_steps: u32,
    /// Steps in the current episode.
    elapsed: u32,
}

/// The state of the wrapper and of the environment.
#[derive(Serialize, Deserialize)]
struct State {
    elapsed: u32,
    env: Vec<u8>,
}

impl<E: Env> TimeLimit<E> {
    /// Truncates the episodes of `env` after `max_episode_steps` steps; 0 is treated as 1.
    pub fn new(env: E, max_episode_steps: u32) -> Self {
        Self { env, max_episode_steps, elapsed: 0 }
    }
}

impl<E> TimeLimit<E> {
    /// Counts a step, and truncates the episode if it is the last one.
    fn limit(&mut self, step: Step) -> Step {
        self.elapsed = self.elapsed.saturating_add(1);
        if self.elapsed >= self.max_episode_steps && !step.ends_episode() {
            // Truncation replaces a termination that concerns the learner only.
            return Step { truncated: true, terminated: false, continues: false, ..step };
        }
        step
    }
}

impl<E: Env> Env for TimeLimit<E> {
    type Info = E::Info;

    crate::forward!(env: observation_space, action_space, observe, render, info);

    fn reset(&mut self, seed: Option<u64>, observation: &mut [u8]) {
        self.elapsed = 0;
        self.env.reset(seed, observation);
    }

    fn autoreset(&mut self, observation: &mut [u8]) {
        self.elapsed = 0;
        self.env.autoreset(observation);
    }

    fn step(&mut self, action: Action<'_>, observation: &mut [u8]) -> Result<Step, EnvError> {
        let step = self.env.step(action, observation)?;
        Ok(self.limit(step))
    }

    fn advance(&mut self, action: Action<'_>, scratch: &mut [u8]) -> Result<Step, EnvError> {
        let step = self.env.advance(action, scratch)?;
        Ok(self.limit(step))
    }

    fn snapshot(&self) -> Vec<u8> {
        snapshot::encode(&State { elapsed: self.elapsed, env: self.env.snapshot() })
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<(), EnvError> {
        let state: State = snapshot::decode(snapshot)?;
        self.env.restore(&state.env)?;
        self.elapsed = state.elapsed;
        Ok(())
    }
}
