//! Executable memory. Each platform's file has the same interface:
//!
//! * `can_execute` returns true if the system grants executable memory.
//! * [`Executable::new`] places a compiled function in memory of its own, which is unmapped when the value is dropped.
//!   Returns `None` if the system refuses.
//! * [`Executable::start`] is the address of the function.
//! * [`UNWIND_INFO`] is the compiler's setting of that name.

#[cfg(not(all(windows, target_arch = "x86_64")))]
mod mapped;
#[cfg(all(windows, target_arch = "x86_64"))]
mod windows;

#[cfg(not(all(windows, target_arch = "x86_64")))]
pub(super) use mapped::{Executable, UNWIND_INFO, can_execute};
#[cfg(all(windows, target_arch = "x86_64"))]
pub(super) use windows::{Executable, UNWIND_INFO, can_execute};
