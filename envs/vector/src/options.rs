use std::num::NonZeroUsize;
use std::thread;

use rl_env::AutoresetMode;

use crate::BuildError;
use crate::limits::{MAX_NUM_ENVS, MAX_NUM_THREADS};

/// The choice of environments for a batch with fewer rows than environments.
///
/// ```
/// use vector::{BatchOrder, PoolOptions};
///
/// // Environments 0 to 3 and 4 to 7 alternate: while a policy acts on one half, the other half steps.
/// let halves = PoolOptions { batch_size: 4, batch_order: BatchOrder::InTurn, ..PoolOptions::default() };
/// assert_eq!(PoolOptions::default().batch_order, BatchOrder::FirstCome);
/// # assert_eq!(halves.batch_size, 4);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BatchOrder {
    /// The environments that finish first.
    #[default]
    FirstCome,
    /// Fixed groups of consecutive environments in turn: while the caller chooses actions for one group, the others
    /// step. Results do not depend on which environments are fast. The batch size must divide the number of
    /// environments.
    InTurn,
}

/// Options of a [`PoolVectorEnv`](crate::PoolVectorEnv). The default steps all environments together.
///
/// ```
/// use rl_env::AutoresetMode;
/// use vector::PoolOptions;
///
/// let options = PoolOptions {
///     batch_size: 32,
///     num_threads: 2,
///     autoreset_mode: AutoresetMode::SameStep,
///     ..PoolOptions::default()
/// };
/// assert_eq!(options.thread_affinity_offset, None);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolOptions {
    /// The number of rows of a batch, at most the number of environments; 0 means one for each environment.
    pub batch_size: usize,
    /// The choice of environments for a batch with fewer rows than environments.
    pub batch_order: BatchOrder,
    /// The number of threads that step environments, at most [`MAX_NUM_THREADS`]; 0 means one for each row of a batch,
    /// but at most one for each core. There are never more threads than environments. If a batch holds all
    /// environments, the thread that calls `recv` is one of them.
    pub num_threads: usize,
    /// Pins thread `i` to core `(offset + i) % cores`, counting the cores that this process may use (on Linux and
    /// Windows; on macOS it is a hint). The calling thread is never pinned.
    pub thread_affinity_offset: Option<usize>,
    /// The time at which an environment is reset after the end of an episode.
    pub autoreset_mode: AutoresetMode,
}

impl PoolOptions {
    /// Returns the effective batch size.
    pub(crate) fn batch_size_for(&self, num_envs: NonZeroUsize) -> Result<usize, BuildError> {
        match self.batch_size {
            0 => Ok(num_envs.get()),
            batch_size if batch_size > num_envs.get() => {
                Err(BuildError::BatchSize { batch_size, num_envs: num_envs.get() })
            }
            batch_size
                if self.batch_order == BatchOrder::InTurn && !num_envs.get().is_multiple_of(batch_size) =>
            {
                Err(BuildError::UnevenTurns { batch_size, num_envs: num_envs.get() })
            }
            batch_size => Ok(batch_size),
        }
    }

    /// Returns the effective number of threads.
    pub(crate) fn threads_for(
        &self,
        num_envs: NonZeroUsize,
        batch_size: usize,
    ) -> Result<NonZeroUsize, BuildError> {
        if self.num_threads > MAX_NUM_THREADS {
            return Err(BuildError::TooManyThreads { num_threads: self.num_threads });
        }
        let wanted = NonZeroUsize::new(self.num_threads).unwrap_or_else(|| {
            let cores = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
            NonZeroUsize::new(batch_size).map_or(cores, |rows| rows.min(cores))
        });
        Ok(wanted.min(num_envs))
    }
}

/// Returns an error if there are more environments of a task than allowed.
pub(crate) fn check_num_envs(num_envs: usize) -> Result<(), BuildError> {
    if num_envs > MAX_NUM_ENVS { Err(BuildError::TooManyEnvs { num_envs }) } else { Ok(()) }
}
