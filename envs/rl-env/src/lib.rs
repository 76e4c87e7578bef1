//! The vocabulary of the workspace: what an environment is, what a step is, what a batch is.
//!
//! This crate knows no game, no emulator and no thread. Environments implement [`Env`]; whatever steps many of
//! them at once implements [`VectorEnv`]; learners see nothing but [`VectorEnv`].

mod autoreset;
mod batch;
mod env;
mod error;
mod observation;
mod space;
mod vector_env;

pub use autoreset::AutoresetMode;
pub use batch::{Actions, Batch, EpisodeStats};
pub use env::{Action, Env, Step};
pub use error::EnvError;
pub use observation::ObservationBuffer;
pub use space::{Dtype, Space};
pub use vector_env::{ResetSeeds, VectorEnv};
