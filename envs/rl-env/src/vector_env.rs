use crate::{Actions, AutoresetMode, Batch, Space, VectorError};

/// The seeds of a reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResetSeeds<'a> {
    /// Every environment continues its random number generator.
    Continue,
    /// Seed `first + i` for environment `i`.
    From(u64),
    /// One seed for each environment, in the order of the environments.
    Each(&'a [Option<u64>]),
}

impl ResetSeeds<'_> {
    /// Returns the seed of environment `index`.
    pub fn of(&self, index: usize) -> Option<u64> {
        match self {
            Self::Continue => None,
            Self::From(first) => Some(first.wrapping_add(index as u64)),
            Self::Each(seeds) => seeds[index],
        }
    }
}

/// Environments that are stepped together. This is the interface that learners use.
///
/// Environments may belong to different *tasks* (games): observations have one shape, but numbers of actions may
/// differ.
///
/// ```
/// use rl_env::{Actions, EpisodeStats, ResetSeeds, VectorEnv, VectorError};
///
/// /// Returns the statistics of the first episode that ends when every environment repeats action 0.
/// fn first_episode(envs: &mut dyn VectorEnv) -> Result<EpisodeStats, VectorError> {
///     let actions = vec![0; envs.batch_size()];
///     envs.reset(ResetSeeds::From(42))?;
///     loop {
///         let batch = envs.step(Actions::Discrete(&actions))?;
///         if let Some(episode) = batch.episodes.iter().flatten().next() {
///             return Ok(*episode);
///         }
///     }
/// }
/// ```
pub trait VectorEnv {
    /// Returns the number of environments.
    fn num_envs(&self) -> usize;

    /// Returns the number of rows of a batch. If it equals `num_envs`, row `i` is environment `i`.
    fn batch_size(&self) -> usize;

    /// Returns the observation space of a single environment, which is the same for all.
    fn single_observation_space(&self) -> &Space;

    /// Returns the action space of each environment.
    fn action_spaces(&self) -> &[Space];

    /// Returns the distinct names of the tasks, in order of first occurrence.
    fn tasks(&self) -> &[String];

    /// Returns the index into [`tasks`](Self::tasks) of each environment.
    fn task_ids(&self) -> &[usize];

    /// Returns how environments are reset at the end of an episode.
    fn autoreset_mode(&self) -> AutoresetMode;

    /// Resets every environment and waits for the first batch.
    fn reset(&mut self, seeds: ResetSeeds<'_>) -> Result<&Batch, VectorError>;

    /// Sends one action to each environment of the last batch, in the order of its rows, without waiting. If any action
    /// is invalid, none is sent.
    fn send(&mut self, actions: Actions<'_>) -> Result<(), VectorError>;

    /// Waits for the next batch.
    fn recv(&mut self) -> Result<&Batch, VectorError>;

    /// Returns the last batch received. The batch is all zeros before the first reset.
    fn batch(&self) -> &Batch;

    /// Calls `send`, then `recv`.
    fn step(&mut self, actions: Actions<'_>) -> Result<&Batch, VectorError> {
        self.send(actions)?;
        self.recv()
    }

    /// Returns the complete state of every environment. Must not be called between `send` and `recv`.
    fn snapshot(&self) -> Result<Vec<u8>, VectorError>;

    /// Restores a state from [`snapshot`](Self::snapshot) and returns it as a batch. On an error nothing changes.
    fn restore(&mut self, snapshot: &[u8]) -> Result<&Batch, VectorError>;
}
