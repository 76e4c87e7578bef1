//! The vocabulary of the workspace: environments, spaces, steps, batches and vector environments.
//!
//! An environment implements [`Env`]; [`check_env`] tests that it follows the rules. Code that steps many environments
//! at once implements [`VectorEnv`], the only interface that learners see. This crate depends on no game, emulator or
//! thread pool.

mod autoreset;
mod batch;
mod boxed;
mod check_env;
mod env;
mod error;
mod flatten_observation;
mod forward;
pub mod interrupt;
mod nearest;
mod observation;
mod pcg64;
mod registry;
mod rescale_observation;
mod rgb_image;
pub mod snapshot;
mod space;
mod time_limit;
mod vector_env;
mod vector_error;
mod vector_phase;
mod words;
mod ziggurat;

pub use autoreset::AutoresetMode;
pub use batch::{ActionBuffer, Actions, Batch, EpisodeStats};
pub use boxed::{BoxedEnv, WithoutInfo};
pub use check_env::{Rule, Violation, check_env};
pub use env::{Action, ActionKind, Env, Step};
pub use error::EnvError;
pub use flatten_observation::FlattenObservation;
pub use nearest::nearest;
pub use observation::ObservationBuffer;
pub use pcg64::Pcg64;
pub use registry::{EnvSpec, FactoryError, Registry, RegistryError};
pub use rescale_observation::RescaleObservation;
pub use rgb_image::RgbImage;
pub use space::{Bound, CannotBatch, Dtype, Leaf, Space};
pub use time_limit::TimeLimit;
pub use vector_env::{ResetSeeds, VectorEnv};
pub use vector_error::VectorError;
pub use vector_phase::VectorPhase;
