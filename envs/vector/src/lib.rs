//! Vector environments on a work-stealing pool.
//!
//! [`PoolVectorEnv`] steps any number of environments of one type at once, whatever they are, and hands learners
//! [`Batch`](rl_env::Batch)es through [`VectorEnv`](rl_env::VectorEnv). Its results depend on the environments, the
//! seeds and the actions alone, never on the number of threads.
//!
//! [`AtariVectorEnv`] is the one whose environments are Atari games. Nothing else here knows of them.
//!
//! * `pool` is the thread pool; it knows nothing of environments.
//! * `slot` is one environment with its episode: what an order does to it under each autoreset mode. It knows no
//!   thread.
//! * `slots` are all environments with the ring of batches that they fill, in order, in turn or as they finish.
//! * `arrivals` counts what has come and wakes the caller.
//! * `rows` is the one place where threads share memory without a lock: the rows of the batches being written.

mod action_sequence;
mod arrivals;
#[cfg(feature = "atari")]
mod atari;
mod build_error;
mod options;
mod pool;
mod pool_vector_env;
mod rows;
mod slot;
mod slots;
mod spaces;

#[cfg(feature = "atari")]
pub use atari::{AtariGroup, AtariVectorEnv};
pub use build_error::BuildError;
pub use options::{BatchOrder, PoolOptions};
pub use pool_vector_env::PoolVectorEnv;
