//! Files that ale-train downloads on first use: ROMs, and the library and models of MuJoCo. They come from `PyPI`
//! through the [`Pip`] of the user, and stay in the user's [data directory](data_directory).
//!
//! This crate prints nothing: [`Pip`] passes its only message to a callback.

mod directory;
mod lock_file;
mod pip;
mod platform;

pub use directory::data_directory;
pub use lock_file::open_lock_file;
pub use pip::{Pip, PipError};
