//! The signals that ask the program to stop: Ctrl-C, SIGTERM, SIGHUP and SIGUSR1.

use std::io;

/// A signal that asks the program to stop, with its number on Linux, from which the exit status follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Signal {
    /// SIGHUP: the terminal was closed.
    HangUp = 1,
    /// SIGINT: Ctrl-C.
    Interrupt = 2,
    /// SIGUSR1, which Slurm sends some time before it ends a job, and which `mpirun` passes on.
    Warning = 10,
    /// SIGTERM, the default of `kill`, service managers and batch systems.
    Terminate = 15,
}

impl Signal {
    const ALL: [Self; 4] = [Self::HangUp, Self::Interrupt, Self::Warning, Self::Terminate];

    /// Returns the exit status of a program that the signal stopped: 128 and its number, as in shells.
    pub(crate) fn exit_status(self) -> u8 {
        128 + self as u8
    }

    /// Returns the signal that stopped a program with this exit status.
    pub(crate) fn from_exit_status(status: i32) -> Option<Self> {
        Self::ALL.into_iter().find(|signal| i32::from(signal.exit_status()) == status)
    }

    /// Returns the signal with this number on Linux.
    pub(crate) fn from_number(number: i32) -> Option<Self> {
        Self::ALL.into_iter().find(|&signal| i32::from(signal as u8) == number)
    }
}

#[cfg(unix)]
pub(crate) use unix::{handle, send};

#[cfg(unix)]
mod unix {
    use std::thread;

    use nix::sys::signal::{SigHandler, Signal as RawSignal, kill, signal};
    use nix::unistd::Pid;
    use signal_hook::iterator::Signals;

    use super::{Signal, io};

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
}

/// Calls `react` for each Ctrl-C.
#[cfg(not(unix))]
pub(crate) fn handle(react: impl Fn(Signal) + Send + 'static) -> io::Result<()> {
    ctrlc::set_handler(move || react(Signal::Interrupt)).map_err(io::Error::other)
}

/// Does nothing: the system sends Ctrl-C to all processes of the console.
#[cfg(not(unix))]
pub(crate) fn send(_: Signal, _: u32) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_signal_has_the_exit_status_of_shells() {
        assert_eq!(Signal::ALL.map(Signal::exit_status), [129, 130, 138, 143]);
        for signal in Signal::ALL {
            assert_eq!(Signal::from_exit_status(signal.exit_status().into()), Some(signal));
        }
        assert_eq!((Signal::from_exit_status(137), Signal::from_number(9)), (None, None));
    }
}
