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
    #[error("the ROM image has {size} bytes, but a cartridge of scheme {scheme} has {}", sizes(.expected))]
    WrongSize {
        /// The requested scheme.
        scheme: Scheme,
        /// Size of the image in bytes.
        size: usize,
        /// The sizes that the scheme allows.
        expected: &'static [usize],
    },
}

/// Lists sizes as "8192, 16384 or 32768".
fn sizes(sizes: &[usize]) -> String {
    let sizes: Vec<String> = sizes.iter().map(usize::to_string).collect();
    match sizes.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}
