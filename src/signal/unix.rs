use std::io;
use std::thread;

use nix::sys::signal::{SigHandler, Signal as RawSignal, kill, signal};
use nix::unistd::Pid;
use signal_hook::iterator::Signals;

use super::stop_signal::Signal;

/// Calls `react` with each signal, on a dedicated thread. Hang-ups that are ignored, as under `nohup`, stay
/// ignored.
pub(crate) fn handle(react: impl Fn(Signal) + Send + 'static) -> io::Result<()> {
    let handled =
        Signal::ALL.into_iter().filter(|&signal| signal != Signal::HangUp || !hang_ups_are_ignored());
    let mut signals = Signals::new(handled.map(|signal| raw(signal) as i32))?;
    thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || signals.forever().filter_map(from_raw).for_each(react))?;
    Ok(())
}

#[allow(unsafe_code)]
fn hang_ups_are_ignored() -> bool {
    // SAFETY: this installs no handler function; it ignores the signal, and then restores the previous disposition.
    let set_disposition = |disposition| unsafe { signal(RawSignal::SIGHUP, disposition) };
    let Ok(before) = set_disposition(SigHandler::SigIgn) else { return false };
    // The same call succeeded above.
    let _ = set_disposition(before);
    matches!(before, SigHandler::SigIgn)
}

/// Sends a signal to a process, which may have ended already.
pub(crate) fn send(signal: Signal, process: u32) {
    let _ = kill(Pid::from_raw(process as i32), raw(signal));
}

/// Returns the signal of this system. The number of SIGUSR1 differs between Linux and macOS.
fn raw(signal: Signal) -> RawSignal {
    match signal {
        Signal::HangUp => RawSignal::SIGHUP,
        Signal::Interrupt => RawSignal::SIGINT,
        Signal::Warning => RawSignal::SIGUSR1,
        Signal::Terminate => RawSignal::SIGTERM,
    }
}

fn from_raw(number: i32) -> Option<Signal> {
    Signal::ALL.into_iter().find(|&signal| raw(signal) as i32 == number)
}
