//! ROM images: the known images, the directory that holds them, and the ways to fill it.
//!
//! A ROM is recognised by the MD5 of its content. Only for an [`UnknownImage`] may the name of the file decide the
//! game. The [`Manifest`] lists the images that ale-py 0.12.1 ships; a [`RomStore`] is a directory with verified copies
//! of them. Images come from the user's own files ([`RomStore::import`]) or from the ale-py wheel, downloaded with the
//! user's pip ([`RomStore::fetch`]). [`RomSources`] also finds the images of packages that are installed in the user's
//! Python.
//!
//! This module prints nothing: [`Pip`] passes its only message to a callback. Error messages name the `ale-train`
//! commands that solve the problem.

mod builtin;
mod by_name;
mod digest;
mod directory;
mod error;
mod fetch;
mod image;
mod import;
mod manifest;
mod sources;
mod store;
#[cfg(feature = "testing")]
mod testing;
#[cfg(test)]
mod tests;
mod wheel;

pub use builtin::built_in;
pub use by_name::UnknownImage;
pub use digest::Md5Sum;
pub use downloads::{Pip, PipError};
pub use error::RomError;
pub use image::read_image;
pub use import::Imported;
pub use manifest::{Manifest, RomEntry};
pub use sources::{Python, RomSources};
pub use store::{RomState, RomStore};
#[cfg(feature = "testing")]
pub use testing::{WITHOUT_ROMS, for_tests};

/// The package that ships the ROMs, at the version of the manifest.
pub const WHEEL: &str = "ale-py==0.12.1";
