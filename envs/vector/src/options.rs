use std::num::NonZeroUsize;
use std::thread;

use rl_env::AutoresetMode;

use crate::BuildError;

/// What a batch holds that is smaller than the vector environment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BatchOrder {
    /// The results that come first, whosesoever they are.
    #[default]
    FirstCome,
    /// Always the same environments, neighbours, in the order of their indices, and the groups in turn: while one is being
    /// decided on, the others step. Nothing depends on which of them are quick. The batch size must divide the number of
    /// environments.
    InTurn,
}

/// How a [`PoolVectorEnv`](crate::PoolVectorEnv) works, beside the environments themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolOptions {
    /// Rows of a batch, at most the number of environments; 0 means as many.
    pub batch_size: usize,
    /// Whose results a batch holds that has fewer rows than there are environments.
    pub batch_order: BatchOrder,
    /// Threads that step environments; 0 means one for each row of a batch, but not more than the machine has cores.
    /// Never more than there are environments. With batches in order the thread that calls `recv` is one of them.
    pub num_threads: usize,
    /// Binds thread `i` to core `(offset + i) % cores`, counting the cores that this process may use (on Linux and
    /// Windows; on macOS it is a hint). The calling thread, where it is thread 0, is left alone.
    pub thread_affinity_offset: Option<usize>,
    /// What happens at the end of an episode.
    pub autoreset_mode: AutoresetMode,
}

impl PoolOptions {
    /// The batch size that is meant.
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

    /// The number of threads that is meant.
    pub(crate) fn threads_for(&self, num_envs: NonZeroUsize, batch_size: usize) -> NonZeroUsize {
        let wanted = NonZeroUsize::new(self.num_threads).unwrap_or_else(|| {
            let cores = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
            NonZeroUsize::new(batch_size).map_or(cores, |rows| rows.min(cores))
        });
        wanted.min(num_envs)
    }
}
