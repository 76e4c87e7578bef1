//! The reaction to signals. By default they end the program. A command may handle the first one, so that it can finish
//! its work. The second signal then ends the program at once, unless it only repeats the first one.

use std::cell::RefCell;
use std::io::{self, Write};
use std::process;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::durable;
use crate::failure::Interrupted;
use crate::output;
use crate::signal::{self, Signal};
use crate::telemetry::Printer;

/// The time in which the same signal arrives again if a wrapper such as `timeout` passes on a Ctrl-C that the terminal
/// sends to both.
const REPEAT: Duration = Duration::from_millis(500);

/// The handler of the first signal, if a command has asked for one.
static HANDLER: Mutex<Option<Handler>> = Mutex::new(None);

struct Handler {
    interrupt: Interrupt,
    printer: Printer,
    /// The message after the first signal.
    notice: &'static str,
    /// The first signal and the time when it arrived.
    first: Option<(Signal, Instant)>,
    /// Child processes that receive the signals too.
    children: Vec<u32>,
    /// The command that continues the work, once all of it is saved.
    resume_command: Option<String>,
}

thread_local! {
    /// The request that stops the commands of this thread instead of a signal.
    static OF_THREAD: RefCell<Option<Interrupt>> = const { RefCell::new(None) };
}

/// The function to call before a signal ends the program, if any.
static CLEAN_UP: Mutex<Option<fn()>> = Mutex::new(None);

fn handler() -> MutexGuard<'static, Option<Handler>> {
    HANDLER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts to react to signals. Call it once per process.
pub(crate) fn handle_signals() -> Result<()> {
    signal::handle(react).context("cannot listen to signals")
}

/// Calls `clean_up` before a signal ends the program.
pub(crate) fn before_exit(clean_up: fn()) {
    *CLEAN_UP.lock().unwrap_or_else(PoisonError::into_inner) = Some(clean_up);
}

fn react(signal: Signal) {
    let mut handler = handler();
    let Some(Handler { interrupt, printer, notice, first, children, resume_command }) = &mut *handler else {
        // Standard error may be closed.
        let _ = writeln!(io::stderr(), "stopped by a signal");
        exit(signal);
    };
    if first.is_some_and(|(first, when)| first == signal && when.elapsed() < REPEAT) {
        return;
    }
    for &mut child in children {
        signal::send(signal, child);
    }
    if interrupt.is_requested() {
        printer.say("stopped at once, without another checkpoint");
        exit(signal);
    }
    *first = Some((signal, Instant::now()));
    if resume_command.is_some() {
        output::notice(Interrupted { signal, resume_command: resume_command.clone() });
        exit(signal);
    }
    interrupt.request(signal);
    printer.say(notice);
}

fn exit(signal: Signal) -> ! {
    if let Some(clean_up) = *CLEAN_UP.lock().unwrap_or_else(PoisonError::into_inner) {
        clean_up();
    }
    durable::delete_incomplete_files();
    process::exit(signal.exit_status().into())
}

/// A request to stop the program: the number of the first signal, or 0.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interrupt(Arc<AtomicU8>);

impl Interrupt {
    /// Makes this request stop the commands of this thread. Signals are then none of their business.
    pub(crate) fn replace_signals(self) {
        OF_THREAD.set(Some(self));
    }

    /// Returns the request that replaces signals on this thread, or one that nothing makes: without a handler, the
    /// first signal ends the program.
    pub(crate) fn without_handler() -> Self {
        OF_THREAD.with_borrow(Clone::clone).unwrap_or_default()
    }

    /// Returns a request that the first signal will make. That signal also prints `notice`.
    pub(crate) fn on_first_signal(printer: Printer, notice: &'static str) -> Self {
        if let Some(interrupt) = OF_THREAD.with_borrow(Clone::clone) {
            return interrupt;
        }
        let interrupt = Self::default();
        *handler() = Some(Handler {
            interrupt: interrupt.clone(),
            printer,
            notice,
            first: None,
            children: Vec::new(),
            resume_command: None,
        });
        interrupt
    }

    /// Requests the program to stop.
    pub(crate) fn request(&self, signal: Signal) {
        self.0.store(signal as u8, Ordering::Relaxed);
    }

    /// Makes the next signal end the program at once, because all work is saved. `resume_command` continues it. Long
    /// calculations then need not poll for a request to stop.
    pub(crate) fn exit_on_next_signal(resume_command: String) {
        if let Some(handler) = &mut *handler() {
            handler.resume_command = Some(resume_command);
        }
    }

    /// Returns true if the program should stop.
    pub(crate) fn is_requested(&self) -> bool {
        self.signal().is_some()
    }

    /// Returns the signal that asks the program to stop.
    pub(crate) fn signal(&self) -> Option<Signal> {
        Signal::from_number(self.0.load(Ordering::Relaxed).into())
    }

    /// Waits for a child process, to which signals are forwarded.
    pub(crate) fn wait_for(&self, child: &mut process::Child) -> io::Result<process::ExitStatus> {
        let id = child.id();
        if let Some(handler) = &mut *handler() {
            handler.children.push(id);
            // The signal may have arrived while the process was started.
            if let Some(signal) = self.signal() {
                signal::send(signal, id);
            }
        }
        let status = child.wait();
        if let Some(handler) = &mut *handler() {
            handler.children.retain(|&other| other != id);
        }
        status
    }
}
