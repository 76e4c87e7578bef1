//! Vector environments on a work-stealing pool.
//!
//! [`PoolVectorEnv`] steps any number of environments of one type and returns [`Batch`](rl_env::Batch)es through
//! [`VectorEnv`](rl_env::VectorEnv). The results of an environment depend only on its seed and its actions, never on
//! the number of threads. Only with [`BatchOrder::FirstCome`] does timing determine which environments form a batch.
//!
//! `AtariVectorEnv` (feature `atari`, on by default) is the vector environment of Atari games, `AtariPlayersVectorEnv`
//! that of games with several players. The rest of the crate does not depend on the emulator.
//!
//! * `pool` is the thread pool. It is independent of environments.
//! * `slot` holds one environment with its episode and carries out commands under each autoreset mode. It is
//!   independent of threads.
//! * `slots` holds all environments and the ring of batches that they fill.
//! * `arrivals` counts results and wakes the caller.
//! * `rows` is the only place where threads share memory without a lock: the rows of the batches being written.
//! * `pool_vector_env` puts these together behind the public interface.

mod action_sequence;
mod arrivals;
#[cfg(feature = "atari")]
mod atari;
mod build_error;
mod limits;
mod memory;
mod options;
#[cfg(feature = "atari")]
mod players;
mod pool;
mod pool_vector_env;
mod rows;
mod slot;
mod slots;
mod spaces;

#[cfg(feature = "atari")]
pub use atari::{AtariGroup, AtariVectorEnv};
pub use build_error::BuildError;
pub use limits::{MAX_NUM_ENVS, MAX_NUM_THREADS};
pub use options::{BatchOrder, PoolOptions};
#[cfg(feature = "atari")]
pub use players::AtariPlayersVectorEnv;
pub use pool_vector_env::{PoolVectorEnv, join_snapshots, part_of_snapshot};
