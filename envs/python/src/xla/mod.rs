//! Calls of the environments from programs that XLA has compiled, without Python: the handlers behind `env.xla()`.
//!
//! XLA calls the functions in [`handlers`] with pointers to arrays. The first argument of each is a *handle*, eight
//! bytes that name the environments, and the first result is the same handle, so that programs can order their calls.

mod api;
mod call;
mod handlers;
mod open;
mod outputs;

use std::ffi::{CStr, c_void};
use std::ptr::NonNull;

use pyo3::prelude::*;
use pyo3::types::PyCapsule;

pub(crate) use open::{Opened, open};
pub(crate) use outputs::{Output, reset_outputs, step_outputs};

/// The name that XLA requires of a capsule with a handler.
const CAPSULE: &CStr = c"xla._CUSTOM_CALL_TARGET";

/// Returns the names of the handlers and capsules with their addresses.
pub(crate) fn targets(py: Python<'_>) -> PyResult<Vec<(&'static str, Bound<'_, PyCapsule>)>> {
    let targets: [(&str, api::Handler); 4] = [
        ("ale_train_reset", handlers::reset),
        ("ale_train_step", handlers::step),
        ("ale_train_send", handlers::send),
        ("ale_train_recv", handlers::recv),
    ];
    targets.into_iter().map(|(name, handler)| Ok((name, capsule(py, handler)?))).collect()
}

/// Returns a capsule with the address of a handler.
fn capsule(py: Python<'_>, handler: api::Handler) -> PyResult<Bound<'_, PyCapsule>> {
    let address = NonNull::new(handler as *mut c_void).expect("functions have addresses");
    // SAFETY: the address of a function stays valid, and the capsule does not free it.
    #[allow(unsafe_code)]
    unsafe {
        PyCapsule::new_with_pointer(py, address, CAPSULE)
    }
}
