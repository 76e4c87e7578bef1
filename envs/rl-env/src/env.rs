use serde::{Deserialize, Serialize};

use crate::{EnvError, Space};

/// What an agent does in one environment for one step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Action<'a> {
    /// One integer for each discrete choice: a single one for [`Space::Discrete`].
    Discrete(&'a [i32]),
    /// The elements of a [`Space::Box`], outermost axis first.
    Continuous(&'a [f32]),
}

impl Action<'_> {
    /// Whether the action lies in `space`.
    pub fn is_in(&self, space: &Space) -> bool {
        let below = |value: i32, n: usize| usize::try_from(value).is_ok_and(|value| value < n);
        match (self, space) {
            (Self::Discrete(values), Space::Discrete { n }) => values.len() == 1 && below(values[0], *n),
            (Self::Discrete(values), Space::MultiDiscrete { nvec }) => {
                values.len() == nvec.len() && values.iter().zip(nvec).all(|(&value, &n)| below(value, n))
            }
            (Self::Continuous(values), Space::Box { low, high, shape, .. }) => {
                values.len() == shape.iter().product::<usize>()
                    && values.iter().all(|value| (low..=high).contains(&value))
            }
            _ => false,
        }
    }
}

/// What one step of one environment yields beside the observation.
///
/// There is no bare `done`: an episode that ended by the task's own rules (`terminated`) has no future value, one
/// that was cut off (`truncated`) has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// The reward the learner sees, after any clipping.
    pub reward: f32,
    /// The reward as the task gave it. Equal to `reward` where nothing is clipped.
    pub raw_reward: f32,
    /// The task itself ended.
    pub terminated: bool,
    /// A limit from outside the task cut the episode off. Never together with `terminated`.
    pub truncated: bool,
    /// `terminated` is meant for the learner alone and the episode continues without a reset: a lost life that is
    /// reported as an end of the return. Only together with `terminated`.
    pub continues: bool,
}

impl Step {
    /// A step without clipping that ends nothing.
    pub fn reward(reward: f32) -> Self {
        Self { reward, raw_reward: reward, ..Self::default() }
    }

    /// Whether the episode is over for either reason, so that a reset has to follow.
    pub fn ends_episode(&self) -> bool {
        (self.terminated || self.truncated) && !self.continues
    }
}

/// One environment: a task with its own state, random numbers and episodes.
///
/// Observations are written by the environment straight into the row that the caller owns, as the bytes that
/// [`observation_space`](Env::observation_space) describes (native byte order; rows are aligned for their type).
pub trait Env: Send {
    /// What the environment reports beside observation and [`Step`]; kept small, copied for every step.
    type Info: Clone + Default + Send + 'static;

    /// The space that every observation lies in.
    fn observation_space(&self) -> &Space;

    /// The space that every action must lie in.
    fn action_space(&self) -> &Space;

    /// Starts a new episode and writes its first observation. With a seed the episode, and all that follow, depend
    /// on the seed alone; without one the random numbers continue.
    fn reset(&mut self, seed: Option<u64>, observation: &mut [u8]);

    /// Performs one action and writes the observation that follows it. Before the first `reset`, or after the
    /// episode's end, the result is unspecified (but memory-safe and without panic).
    fn step(&mut self, action: Action<'_>, observation: &mut [u8]) -> Result<Step, EnvError>;

    /// Facts about the state reached by the last `reset` or `step`.
    fn info(&self) -> Self::Info;

    /// Writes the observation of the present state again, as the last `reset` or `step` did.
    fn observe(&self, observation: &mut [u8]);

    /// The complete state as bytes: continuing from a restored snapshot equals never having left it.
    fn snapshot(&self) -> Vec<u8>;

    /// Puts a state from [`snapshot`](Env::snapshot) back. On an error the environment is as before.
    fn restore(&mut self, snapshot: &[u8]) -> Result<(), EnvError>;
}
