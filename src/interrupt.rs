//! Ctrl-C, SIGTERM and hang-ups. By default they end the program. A command may ask to be notified of the first signal, so
//! that it can finish its work; the second signal then ends the program at once.

use std::io::{self, Write};
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result};

use crate::failure::INTERRUPTED;
use crate::telemetry::Printer;

/// The recipient of the first signal, if there is one.
static ASKED: Mutex<Option<Asked>> = Mutex::new(None);

struct Asked {
    interrupt: Interrupt,
    printer: Printer,
    /// The message after the first signal.
    notice: &'static str,
    /// Child processes that receive the signals too.
    children: Vec<u32>,
}

fn asked() -> MutexGuard<'static, Option<Asked>> {
    ASKED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Installs the signal handler. Call it once per process.
pub(crate) fn listen() -> Result<()> {
    keeping_hang_ups_ignored(|| ctrlc::set_handler(react)).context("cannot listen to signals")
}

/// Handles a signal.
fn react() {
    let asked = asked();
    let Some(Asked { interrupt, printer, notice, children }) = &*asked else {
        // Standard error may be closed.
        let _ = writeln!(io::stderr(), "stopped by a signal");
        process::exit(i32::from(INTERRUPTED));
    };
    for &child in children {
        stop(child);
    }
    if interrupt.0.swap(true, Ordering::Relaxed) {
        process::exit(i32::from(INTERRUPTED));
    }
    printer.say(notice);
}

/// A request to stop the program.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Returns a request that the first signal from now on makes, which also prints `notice`.
    pub(crate) fn to_be_asked(printer: Printer, notice: &'static str) -> Self {
        let interrupt = Self::default();
        *asked() = Some(Asked { interrupt: interrupt.clone(), printer, notice, children: Vec::new() });
        interrupt
    }

    /// Returns true if the program should stop.
    pub(crate) fn is_requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Waits for a child process, to which signals are forwarded.
    pub(crate) fn wait_for(&self, child: &mut process::Child) -> io::Result<process::ExitStatus> {
        let id = child.id();
        if let Some(asked) = &mut *asked() {
            asked.children.push(id);
            // The signal may have arrived while the process was started.
            if self.is_requested() {
                stop(id);
            }
        }
        let status = child.wait();
        if let Some(asked) = &mut *asked() {
            asked.children.retain(|&other| other != id);
        }
        status
    }
}

/// Asks a process to stop. It may have ended already.
#[cfg(unix)]
fn stop(child: u32) {
    use nix::sys::signal::{Signal, kill};
    use nix::unistd::Pid;

    let _ = kill(Pid::from_raw(child as i32), Signal::SIGTERM);
}

/// Other systems signal all processes of the console.
#[cfg(not(unix))]
fn stop(_: u32) {}

/// Installs signal handlers with `set`, but keeps ignoring hang-ups if they are ignored, as under `nohup`.
#[cfg(unix)]
#[allow(unsafe_code)]
fn keeping_hang_ups_ignored<T>(set: impl FnOnce() -> T) -> T {
    use nix::sys::signal::{SigHandler, Signal, signal};

    // SAFETY: the signal is ignored, so no handler is installed.
    let ignore = || unsafe { signal(Signal::SIGHUP, SigHandler::SigIgn) };
    let before = ignore();
    let outcome = set();
    if matches!(before, Ok(SigHandler::SigIgn)) {
        // The same call succeeded above.
        let _ = ignore();
    }
    outcome
}

#[cfg(not(unix))]
fn keeping_hang_ups_ignored<T>(set: impl FnOnce() -> T) -> T {
    set()
}
