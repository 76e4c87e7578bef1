//! Checked access to the arguments and results of a call.

use std::ffi::{CString, c_int};
use std::panic::{self, AssertUnwindSafe};
use std::{ptr, slice};

use super::api::{self, Buffer, Buffers, CallFrame, Code, ErrorArguments, MetadataExtension, element_type};

/// The reason why a call fails.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(super) code: Code,
    pub(super) message: String,
}

impl Failure {
    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self { code: Code::InvalidArgument, message: message.into() }
    }
}

/// A type of array elements.
pub(super) trait Element: Copy {
    const TYPE: c_int;
    const NAME: &'static str;
}

/// A boolean in an array of XLA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(super) struct Flag(u8);

impl Flag {
    pub(super) fn get(self) -> bool {
        self.0 != 0
    }
}

impl From<bool> for Flag {
    fn from(flag: bool) -> Self {
        Self(flag.into())
    }
}

macro_rules! elements {
    ($($element:ty, $constant:ident, $name:literal;)*) => {$(
        impl Element for $element {
            const TYPE: c_int = element_type::$constant;
            const NAME: &'static str = $name;
        }
    )*};
}

elements! {
    Flag, BOOL, "bool";
    i32, I32, "int32";
    i64, I64, "int64";
    u8, U8, "uint8";
    f32, F32, "float32";
}

/// The arguments of a call.
pub(super) struct Arguments<'a>(&'a Buffers);

impl<'a> Arguments<'a> {
    /// Returns argument `index`; `name` is for errors.
    pub(super) fn get(&self, index: usize, name: &'static str) -> Result<Argument<'a>, Failure> {
        let buffer = entry(self.0, index).ok_or_else(|| Failure::invalid(format!("{name} is missing")))?;
        Ok(Argument { buffer, name })
    }
}

/// An argument: an array that does not change during the call.
pub(super) struct Argument<'a> {
    buffer: &'a Buffer,
    name: &'static str,
}

impl<'a> Argument<'a> {
    pub(super) fn shape(&self) -> &'a [i64] {
        dims(self.buffer)
    }

    /// Returns the elements in the order of the rows, if they are of this type.
    pub(super) fn elements<T: Element>(&self) -> Result<&'a [T], Failure> {
        let start = start_of::<T>(self.buffer).map_err(|actual| {
            Failure::invalid(format!("{} must be of {}, got {actual}", self.name, T::NAME))
        })?;
        match len(self.buffer) {
            0 => Ok(&[]),
            // SAFETY: XLA keeps the array of `len` elements of this type for the duration of the call and does not
            // write to it, and `start_of` has checked the alignment. Every pattern of bits is a valid element.
            #[allow(unsafe_code)]
            len => Ok(unsafe { slice::from_raw_parts(start, len) }),
        }
    }

    /// Returns true if the elements are of this type.
    pub(super) fn is<T: Element>(&self) -> bool {
        self.buffer.element_type == T::TYPE
    }
}

/// The results of a call that have not been written yet.
pub(super) struct Results<'a> {
    buffers: &'a Buffers,
    written: usize,
}

impl Results<'_> {
    /// Writes the next result, which has `len` elements.
    pub(super) fn write<T: Element>(
        &mut self,
        len: usize,
        values: impl Iterator<Item = T>,
    ) -> Result<(), Failure> {
        let start = self.next::<T>(len)?;
        for (index, value) in values.take(len).enumerate() {
            // SAFETY: `next` has checked that the result has this many elements of this type, and nothing else refers
            // to it.
            #[allow(unsafe_code)]
            unsafe {
                start.add(index).write(value);
            }
        }
        Ok(())
    }

    /// Writes rows of bytes to the next result.
    pub(super) fn write_rows<'r>(
        &mut self,
        row_bytes: usize,
        rows: impl ExactSizeIterator<Item = &'r [u8]>,
    ) -> Result<(), Failure> {
        let start = self.next::<u8>(rows.len() * row_bytes)?;
        for (index, row) in rows.enumerate() {
            assert_eq!(row.len(), row_bytes);
            // SAFETY: `next` has checked that the result holds all rows, and nothing else refers to it.
            #[allow(unsafe_code)]
            unsafe {
                start.add(index * row_bytes).copy_from_nonoverlapping(row.as_ptr(), row_bytes);
            }
        }
        Ok(())
    }

    /// Returns the start of the next result, which must have `expected` elements of this type.
    fn next<T: Element>(&mut self, expected: usize) -> Result<*mut T, Failure> {
        let index = self.written;
        self.written += 1;
        let mismatch = |actual: &str| result_mismatch::<T>(index, expected, actual);
        let buffer = entry(self.buffers, index).ok_or_else(|| mismatch("none"))?;
        let start = start_of(buffer).map_err(|actual| mismatch(&actual))?;
        let len = len(buffer);
        if len == expected { Ok(start) } else { Err(mismatch(&len.to_string())) }
    }
}

/// Returns the error for a result that does not have `expected` elements of this type.
fn result_mismatch<T: Element>(index: usize, expected: usize, actual: &str) -> Failure {
    Failure::invalid(format!(
        "result {index} must have {expected} elements of {}, got {actual}; the handle is that of another environment",
        T::NAME
    ))
}

/// Answers a call of XLA with `body`.
///
/// # Safety
///
/// `frame` must be the argument of a handler that XLA calls.
#[allow(unsafe_code)]
pub(super) unsafe fn answer(
    frame: *mut CallFrame,
    body: impl FnOnce(&Arguments<'_>, &mut Results<'_>) -> Result<(), Failure>,
) -> *mut api::Error {
    // SAFETY: the frame is valid for the duration of the call.
    let frame = unsafe { &*frame };
    // SAFETY: the list of extensions is valid, and the extension of this kind is a `MetadataExtension`, which asks for
    // the version to be written.
    unsafe {
        if !frame.extensions.is_null() && (*frame.extensions).kind == api::METADATA_EXTENSION {
            write_version(frame, &mut (*(*frame.extensions.cast::<MetadataExtension>()).metadata).version);
            return ptr::null_mut();
        }
    }
    let mut results = Results { buffers: &frame.results, written: 0 };
    // Unwinding into XLA would end the process.
    let answer = panic::catch_unwind(AssertUnwindSafe(|| body(&Arguments(&frame.arguments), &mut results)));
    let failure = || Failure { code: Code::Internal, message: "the handler of ale_train panicked".into() };
    match answer.unwrap_or_else(|_| Err(failure())) {
        Ok(()) => ptr::null_mut(),
        Err(failure) => create_error(frame, &failure),
    }
}

/// Writes the version of XLA, or the last one that the handlers were written for.
fn write_version(frame: &CallFrame, version: &mut api::Version) {
    // SAFETY: the interface is either null, as it was in the first version, or valid.
    #[allow(unsafe_code)]
    let offered = unsafe { frame.api.as_ref() }.map_or(0, |api| api.version.minor);
    version.major = api::MAJOR;
    version.minor = offered.clamp(*api::MINOR.start(), *api::MINOR.end());
}

fn create_error(frame: &CallFrame, failure: &Failure) -> *mut api::Error {
    let message = CString::new(failure.message.replace('\0', "")).unwrap_or_default();
    let mut arguments = ErrorArguments {
        struct_size: size_of::<ErrorArguments>(),
        extensions: ptr::null_mut(),
        message: message.as_ptr(),
        code: failure.code as c_int,
    };
    // SAFETY: the interface of a call is valid, and the function copies the message.
    #[allow(unsafe_code)]
    unsafe {
        ((*frame.api).create_error)(&raw mut arguments)
    }
}

fn entry(buffers: &Buffers, index: usize) -> Option<&Buffer> {
    let exists = usize::try_from(buffers.len).is_ok_and(|len| index < len);
    // SAFETY: the list has `len` entries, each a valid buffer for the duration of the call.
    #[allow(unsafe_code)]
    exists.then(|| unsafe { &**buffers.entries.add(index) })
}

fn dims(buffer: &Buffer) -> &[i64] {
    match usize::try_from(buffer.rank) {
        // SAFETY: a buffer has `rank` dimensions, for the duration of the call.
        #[allow(unsafe_code)]
        Ok(rank @ 1..) => unsafe { slice::from_raw_parts(buffer.dims, rank) },
        _ => &[],
    }
}

fn len(buffer: &Buffer) -> usize {
    dims(buffer).iter().map(|&dim| usize::try_from(dim).unwrap_or(0)).product()
}

/// Returns the address of the first element if the elements are of this type and aligned, otherwise what they are.
fn start_of<T: Element>(buffer: &Buffer) -> Result<*mut T, String> {
    let start = buffer.data.cast::<T>();
    if buffer.element_type != T::TYPE {
        Err(format!("XLA's element type {}", buffer.element_type))
    } else if start.is_aligned() {
        Ok(start)
    } else {
        Err("elements that are not aligned".into())
    }
}
