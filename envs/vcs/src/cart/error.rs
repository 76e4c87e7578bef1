use thiserror::Error;

use super::scheme::Scheme;

/// Error for a ROM image that cannot be used.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum CartridgeError {
    /// The image is empty.
    #[error("the ROM image is empty")]
    Empty,
    /// No known cartridge has this size.
    #[error(
        "no cartridge has {size} bytes; known sizes are 2048, 4096, 8192, 10240, 10495, 10496, 12288, 16384, 32768 \
         and, for scheme 3F only, 65536, 131072, 262144 and 524288"
    )]
    UnknownSize {
        /// Size of the image in bytes.
        size: usize,
    },
    /// The image does not fit the requested scheme.
    #[error("the ROM image has {size} bytes, but a cartridge of scheme {scheme} has {expected}")]
    WrongSize {
        /// The requested scheme.
        scheme: Scheme,
        /// Size of the image in bytes.
        size: usize,
        /// The size that the scheme requires.
        expected: usize,
    },
}
