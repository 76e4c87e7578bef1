use thiserror::Error;

use super::scheme::Scheme;

/// Why a ROM image cannot be used.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum CartridgeError {
    /// The image has no bytes.
    #[error("the ROM image is empty")]
    Empty,
    /// No known cartridge has this size.
    #[error("no cartridge has {size} bytes; known sizes are 2048, 4096, 8192, 10495, 12288, 16384 and 32768")]
    UnknownSize {
        /// Length of the image in bytes.
        size: usize,
    },
    /// The image does not fit the scheme that was asked for.
    #[error("an image of {size} bytes cannot be a {scheme} cartridge, which has {expected}")]
    WrongSize {
        /// The scheme.
        scheme: Scheme,
        /// Length of the image in bytes.
        size: usize,
        /// The length that the scheme needs.
        expected: usize,
    },
}
