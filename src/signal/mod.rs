//! The signals that ask the program to stop: Ctrl-C, SIGTERM, SIGHUP and SIGUSR1. Each platform's file has the same
//! interface: `handle` calls a function for each signal, and `send` passes a signal on to a child process.

mod stop_signal;
#[cfg(unix)]
mod unix;
#[cfg(not(unix))]
mod windows;

#[cfg(unix)]
pub(crate) use unix::{handle, send};
#[cfg(not(unix))]
pub(crate) use windows::{handle, send};

pub(crate) use stop_signal::Signal;
