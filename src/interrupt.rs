//! Ctrl-C, SIGTERM and the end of the terminal. As a rule they end the program; who has something to bring to an end first
//! asks for that, and then the second one ends it at once.

use std::io::{self, Write};
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result};

use crate::failure::INTERRUPTED;
use crate::telemetry::Printer;

/// Who is asked to stop; nobody at first.
static ASKED: Mutex<Option<Asked>> = Mutex::new(None);

struct Asked {
    interrupt: Interrupt,
    printer: Printer,
    /// What is said to the person who asks.
    notice: &'static str,
    /// Processes of ours that the signals are handed on to.
    children: Vec<u32>,
}

fn asked() -> MutexGuard<'static, Option<Asked>> {
    ASKED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Listens to the signals from now on. Only once a process.
pub(crate) fn listen() -> Result<()> {
    keeping_hang_ups_ignored(|| ctrlc::set_handler(react)).context("cannot listen to signals")
}

/// What a signal does.
fn react() {
    let asked = asked();
    let Some(Asked { interrupt, printer, notice, children }) = &*asked else {
        // Where standard error is closed, nobody can be told.
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

/// Whether somebody has asked the program to stop.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// From now on the first signal asks the program to stop, and is answered with `notice`.
    pub(crate) fn to_be_asked(printer: Printer, notice: &'static str) -> Self {
        let interrupt = Self::default();
        *asked() = Some(Asked { interrupt: interrupt.clone(), printer, notice, children: Vec::new() });
        interrupt
    }

    /// Whether the run is to stop.
    pub(crate) fn is_requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Waits for a process of ours, which gets the signals as well.
    pub(crate) fn wait_for(&self, child: &mut process::Child) -> io::Result<process::ExitStatus> {
        let id = child.id();
        if let Some(asked) = &mut *asked() {
            asked.children.push(id);
            // One that came while the process was started.
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

/// Asks a process to stop. One that has ended by itself is none that could be asked.
#[cfg(unix)]
fn stop(child: u32) {
    use nix::sys::signal::{Signal, kill};
    use nix::unistd::Pid;

    let _ = kill(Pid::from_raw(child as i32), Signal::SIGTERM);
}

/// Elsewhere the console tells all of its processes.
#[cfg(not(unix))]
fn stop(_: u32) {}

/// Sets handlers of signals, but leaves the end of the terminal ignored where it is: that is what `nohup` is for.
#[cfg(unix)]
#[allow(unsafe_code)]
fn keeping_hang_ups_ignored<T>(set: impl FnOnce() -> T) -> T {
    use nix::sys::signal::{SigHandler, Signal, signal};

    // SAFETY: no handler of ours runs by this, the signal is only ignored.
    let ignore = || unsafe { signal(Signal::SIGHUP, SigHandler::SigIgn) };
    let before = ignore();
    let outcome = set();
    if matches!(before, Ok(SigHandler::SigIgn)) {
        // It was possible a moment ago.
        let _ = ignore();
    }
    outcome
}

#[cfg(not(unix))]
fn keeping_hang_ups_ignored<T>(set: impl FnOnce() -> T) -> T {
    set()
}
