//! What differs between systems. Each platform's file has the same interface:
//!
//! * [`user_data`] returns the user's data directory, given the values of environment variables.
//! * [`INTERPRETERS`] are the names of Python, in the order in which they are tried.
//! * [`is_placeholder`] returns true if the status is that of a program that only says how to install Python.
//! * [`is_stopped`] returns true if a request to stop ended the process.

#[cfg(unix)]
mod unix;
#[cfg(not(unix))]
mod windows;

#[cfg(unix)]
pub(crate) use unix::{INTERPRETERS, is_placeholder, is_stopped, user_data};
#[cfg(not(unix))]
pub(crate) use windows::{INTERPRETERS, is_placeholder, is_stopped, user_data};
