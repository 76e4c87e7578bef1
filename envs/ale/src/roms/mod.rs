//! ROM images: the known images, the directory that holds them, and the ways to fill it.
//!
//! A ROM is recognised by the MD5 of its content, never by its file name. The [`Manifest`] lists the images that ale-py
//! 0.12.1 ships; a [`RomStore`] is a directory with verified copies of them. Images come from the user's own files
//! ([`RomStore::import`]) or from the ale-py wheel, downloaded with the user's pip ([`RomStore::fetch`]).
//!
//! This module prints nothing: [`Pip`] passes its only message to a callback. Error messages name the `ale-train`
//! commands that solve the problem.

mod builtin;
mod digest;
mod directory;
mod error;
mod fetch;
mod image;
mod import;
mod manifest;
mod store;
#[cfg(feature = "testing")]
mod testing;
#[cfg(test)]
mod tests;
mod wheel;

pub use builtin::built_in;
pub use digest::Md5Sum;
pub use downloads::{Pip, PipError};
pub use error::RomError;
pub use fetch::obtain;
pub use image::read_image;
pub use import::Imported;
pub use manifest::{Manifest, RomEntry};
pub use store::{RomState, RomStore};
#[cfg(feature = "testing")]
pub use testing::{WITHOUT_ROMS, for_tests};
pub use wheel::WHEEL;
