//! Gymnasium's MuJoCo tasks, versions 4 and 5, over the user's own MuJoCo library.
//!
//! [`MujocoEnv`] is the environment of all tasks, which differ in their [`Task`]. [`register`] adds them to a registry
//! with their Gymnasium ids and time limits. Library and models come from an [`Installation`] and are loaded at run
//! time: without one, only making an environment fails.
//!
//! Written from the source of Gymnasium 1.4.0 (MIT) and the headers of MuJoCo (Apache-2.0). Arguments that affect only
//! rendering (`default_camera_config`, `render_mode`, `width` and others) do not exist here.
//!
//! [`MujocoEnv::draw`] draws pictures where a library for OpenGL without a screen is installed, which is loaded at the
//! first picture. [`check_rendering`] says what is missing.

mod arguments;
mod arithmetic;
mod env;
mod error;
mod fetch;
mod files;
mod ids;
mod info;
mod installation;
mod library;
mod model;
mod offsets;
mod renderer;
mod rules;
mod simulation;
mod specs;
mod task;
mod tasks;
mod value;
mod versions;

pub use downloads::{Pip, PipError};
pub use env::MujocoEnv;
pub use error::MujocoError;
pub use ids::register;
pub use info::Info;
pub use installation::Installation;
pub use library::Library;
pub use renderer::error::RenderError;
pub use renderer::{View, check_rendering};
pub use specs::FAMILY;
pub use task::Task;
pub use value::Value;
pub use versions::supported_versions;
