use crate::{Actions, AutoresetMode, Batch, Space, VectorError};

/// The seeds of a reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResetSeeds<'a> {
    /// Every environment continues its random numbers.
    Continue,
    /// Environment `i` gets the seed `first + i`.
    From(u64),
    /// Each environment its own, in the order of the environments.
    Each(&'a [Option<u64>]),
}

impl ResetSeeds<'_> {
    /// The seed of environment `index`.
    pub fn of(&self, index: usize) -> Option<u64> {
        match self {
            Self::Continue => None,
            Self::From(first) => Some(first.wrapping_add(index as u64)),
            Self::Each(seeds) => seeds[index],
        }
    }
}

/// Many environments that are stepped together: all that a learner sees of the world.
///
/// Environments may play different *tasks* (games): observations have one shape, action counts may differ.
pub trait VectorEnv {
    /// Number of environments.
    fn num_envs(&self) -> usize;

    /// Rows in every batch of `recv`. Batches come in order when this equals `num_envs`.
    fn batch_size(&self) -> usize;

    /// The space of one observation, the same for every environment.
    fn single_observation_space(&self) -> &Space;

    /// The action space of each environment, in the order of the environments.
    fn action_spaces(&self) -> &[Space];

    /// The names of the tasks, each once, in the order in which they first occur.
    fn tasks(&self) -> &[String];

    /// For each environment its index into [`tasks`](Self::tasks).
    fn task_ids(&self) -> &[usize];

    /// What happens at the end of an episode.
    fn autoreset_mode(&self) -> AutoresetMode;

    /// Resets every environment and waits for the first batch of observations.
    fn reset(&mut self, seeds: ResetSeeds<'_>) -> Result<&Batch, VectorError>;

    /// Gives one action to each environment of the last received batch, in its order, and returns at once.
    /// With an invalid action nothing is sent.
    fn send(&mut self, actions: Actions<'_>) -> Result<(), VectorError>;

    /// Waits for the next batch. It stays valid until the next `recv`.
    fn recv(&mut self) -> Result<&Batch, VectorError>;

    /// The batch that was received last. All zero before the first reset.
    fn batch(&self) -> &Batch;

    /// `send`, then `recv`.
    fn step(&mut self, actions: Actions<'_>) -> Result<&Batch, VectorError> {
        self.send(actions)?;
        self.recv()
    }

    /// The complete state of every environment as bytes. Must not be called between `send` and `recv`.
    fn snapshot(&self) -> Result<Vec<u8>, VectorError>;

    /// Puts a state from [`snapshot`](Self::snapshot) back and reports it as a batch. On an error nothing has changed.
    fn restore(&mut self, snapshot: &[u8]) -> Result<&Batch, VectorError>;
}
