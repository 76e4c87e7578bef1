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
    pub(super) const ALL: [Self; 4] = [Self::HangUp, Self::Interrupt, Self::Warning, Self::Terminate];

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
