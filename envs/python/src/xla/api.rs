//! The structures of XLA's typed foreign function interface, a stable C interface, that are used here.
//!
//! XLA calls a handler with a [`CallFrame`]. Every structure begins with its size and a list of extensions, so that
//! later versions can append members.

use std::ffi::{c_char, c_int, c_void};
use std::ops::RangeInclusive;

/// The major version that these structures describe.
pub(super) const MAJOR: c_int = 0;

/// The minor versions that these structures describe. XLA accepts handlers of its own and some older ones.
pub(super) const MINOR: RangeInclusive<c_int> = 1..=3;

/// The kind of the extension that asks a handler for its metadata instead of calling it.
pub(super) const METADATA_EXTENSION: c_int = 1;

/// Codes of errors, which are those of gRPC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum Code {
    InvalidArgument = 3,
    FailedPrecondition = 9,
    Internal = 13,
}

/// Types of array elements.
pub(super) mod element_type {
    use std::ffi::c_int;

    pub(crate) const BOOL: c_int = 1;
    pub(crate) const I32: c_int = 4;
    pub(crate) const I64: c_int = 5;
    pub(crate) const U8: c_int = 6;
    pub(crate) const F32: c_int = 11;
}

#[repr(C)]
pub(super) struct Extension {
    pub(super) struct_size: usize,
    pub(super) kind: c_int,
    pub(super) next: *mut Extension,
}

#[repr(C)]
pub(super) struct Version {
    pub(super) struct_size: usize,
    pub(super) extensions: *mut Extension,
    pub(super) major: c_int,
    pub(super) minor: c_int,
}

#[repr(C)]
pub(super) struct Metadata {
    pub(super) struct_size: usize,
    pub(super) version: Version,
    pub(super) traits: u32,
}

/// The [`Extension`] of kind [`METADATA_EXTENSION`].
#[repr(C)]
pub(super) struct MetadataExtension {
    pub(super) extension: Extension,
    pub(super) metadata: *mut Metadata,
}

/// An array in row-major order.
#[repr(C)]
pub(super) struct Buffer {
    pub(super) struct_size: usize,
    pub(super) extensions: *mut Extension,
    pub(super) element_type: c_int,
    pub(super) data: *mut c_void,
    pub(super) rank: i64,
    pub(super) dims: *const i64,
}

/// Arguments or results.
#[repr(C)]
pub(super) struct Buffers {
    pub(super) struct_size: usize,
    pub(super) extensions: *mut Extension,
    pub(super) len: i64,
    /// The kind of each entry. Buffers are the only kind.
    pub(super) kinds: *const c_int,
    pub(super) entries: *const *const Buffer,
}

/// Constants of the call, which these handlers do not have.
#[repr(C)]
pub(super) struct Attributes {
    pub(super) struct_size: usize,
    pub(super) extensions: *mut Extension,
    pub(super) len: i64,
    pub(super) kinds: *const c_int,
    pub(super) names: *const c_void,
    pub(super) values: *const c_void,
}

#[repr(C)]
pub(super) struct ErrorArguments {
    pub(super) struct_size: usize,
    pub(super) extensions: *mut Extension,
    /// Copied by `create_error`.
    pub(super) message: *const c_char,
    pub(super) code: c_int,
}

/// An error that XLA owns.
#[repr(C)]
pub(crate) struct Error {
    _private: [u8; 0],
}

/// The functions that XLA offers to handlers; more follow.
#[repr(C)]
pub(super) struct Api {
    pub(super) struct_size: usize,
    pub(super) extensions: *mut Extension,
    pub(super) version: Version,
    pub(super) internal: *const c_void,
    pub(super) create_error: unsafe extern "C" fn(*mut ErrorArguments) -> *mut Error,
}

/// One call of a handler.
#[repr(C)]
pub(crate) struct CallFrame {
    pub(super) struct_size: usize,
    pub(super) extensions: *mut Extension,
    pub(super) api: *const Api,
    pub(super) context: *mut c_void,
    pub(super) stage: c_int,
    pub(super) arguments: Buffers,
    pub(super) results: Buffers,
    pub(super) attributes: Attributes,
}

/// A function that XLA calls. It returns null if it succeeds.
pub(super) type Handler = unsafe extern "C" fn(*mut CallFrame) -> *mut Error;
