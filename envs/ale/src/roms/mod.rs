//! ROM images: which ones are known, where they are kept, and how they get there.
//!
//! A ROM is recognised by the MD5 of its bytes, never by its file name. The [`Manifest`] lists the images that ale-py
//! 0.12.1 ships; a [`RomStore`] is a folder with checked copies of them. Images come from files that the user has
//! ([`RomStore::import`]) or from the ale-py wheel, downloaded with the user's own pip ([`RomStore::fetch`]).
//!
//! This module prints nothing and knows no command line.

mod builtin;
mod digest;
mod directory;
mod error;
mod fetch;
mod import;
mod manifest;
mod pip;
mod store;
#[cfg(feature = "testing")]
mod testing;
#[cfg(test)]
mod tests;
mod wheel;

pub use builtin::built_in;
pub use digest::Md5Sum;
pub use error::RomError;
pub use import::Imported;
pub use manifest::{Manifest, RomEntry};
pub use pip::Pip;
pub use store::{RomState, RomStore};
#[cfg(feature = "testing")]
pub use testing::{WITHOUT_ROMS, for_tests};
pub use wheel::WHEEL;
