//! The console, its preprocessing and exported agents in a browser: a WebAssembly module for the page in
//! `browser/page`, and the same as a library.
//!
//! [`Session`] is a game that the visitor and an [`Agent`] play in turns; [`Rom`] recognises images. `interface` has
//! the functions that the page calls. Nothing here uses a file, a clock or the network, and the module imports nothing
//! from its page: files are bytes that the page passes.

mod agent;
mod error;
mod interface;
mod network;
mod rom;
mod session;

pub use agent::Agent;
pub use error::FileError;
pub use network::{Evaluation, Memory};
pub use rom::Rom;
pub use session::Session;
