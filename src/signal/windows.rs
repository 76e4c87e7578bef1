//! Events of the console, in the place of signals.

use std::io;
use std::sync::{Mutex, PoisonError};
use std::thread;

use windows_sys::Win32::System::Console::{
    CTRL_BREAK_EVENT, CTRL_C_EVENT, CTRL_CLOSE_EVENT, CTRL_LOGOFF_EVENT, CTRL_SHUTDOWN_EVENT,
    SetConsoleCtrlHandler,
};
use windows_sys::core::BOOL;

use super::stop_signal::Signal;

/// The events, each with its signal.
const EVENTS: [(u32, Signal); 5] = [
    (CTRL_C_EVENT, Signal::Interrupt),
    (CTRL_BREAK_EVENT, Signal::Terminate),
    (CTRL_CLOSE_EVENT, Signal::HangUp),
    (CTRL_LOGOFF_EVENT, Signal::Terminate),
    (CTRL_SHUTDOWN_EVENT, Signal::Terminate),
];

/// The events after which the system ends the process as soon as the handler returns, or after a few seconds.
const LAST: [u32; 3] = [CTRL_CLOSE_EVENT, CTRL_LOGOFF_EVENT, CTRL_SHUTDOWN_EVENT];

/// The function to call.
static REACT: Mutex<Option<Box<dyn Fn(Signal) + Send>>> = Mutex::new(None);

/// Calls `react` with the signal of each event, on threads of the system.
#[allow(unsafe_code)]
pub(crate) fn handle(react: impl Fn(Signal) + Send + 'static) -> io::Result<()> {
    *REACT.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(react));
    // SAFETY: the handler has the type of handlers, and may be called on any thread.
    match unsafe { SetConsoleCtrlHandler(Some(handle_event), 1) } {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Returns 1 for an event that needs no other handler.
#[allow(unsafe_code)]
unsafe extern "system" fn handle_event(event: u32) -> BOOL {
    let Some((_, signal)) = EVENTS.into_iter().find(|&(known, _)| known == event) else { return 0 };
    if let Some(react) = &*REACT.lock().unwrap_or_else(PoisonError::into_inner) {
        react(signal);
    }
    while LAST.contains(&event) {
        // The end of `main` ends this thread too.
        thread::park();
    }
    1
}

/// Does nothing: the system sends events to all processes of the console.
pub(crate) fn send(_: Signal, _: u32) {}
