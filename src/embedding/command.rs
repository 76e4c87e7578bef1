use std::ffi::OsString;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use super::error::CallError;
use super::own_thread::{STACK, died};
use crate::environments::provided::{self, Provider};
use crate::interrupt::Interrupt;
use crate::output::{StandardOutput, notice};
use crate::signal::Signal;
use crate::telemetry::{self, Observer};
use crate::{allocator, cli, commands, threads};

/// The time between two questions to the caller.
const POLL: Duration = Duration::from_millis(20);

/// A command of the program.
#[derive(Default)]
pub struct Command {
    /// The arguments, without the name of the program.
    pub arguments: Vec<OsString>,
    /// Builds the environments of a run whose game is `python:__vector__:NAME`.
    pub environments: Option<Provider>,
    /// Receives each record of a run as a line of `metrics.jsonl`.
    pub observer: Option<Observer>,
}

impl Command {
    /// Runs the command and returns what it writes to standard output.
    ///
    /// Calls `is_stopped` on this thread several times a second. Once it returns true, training writes a checkpoint and
    /// the call fails with [`CallError::Interrupted`].
    pub fn run(self, mut is_stopped: impl FnMut() -> bool) -> Result<Vec<u8>, CallError> {
        let interrupt = Interrupt::default();
        let (sender, receiver) = mpsc::channel();
        let thread = thread::Builder::new().name("ale-train".to_owned()).stack_size(STACK);
        let of_thread = interrupt.clone();
        let running = thread.spawn(move || {
            // The receiver waits for as long as the thread runs.
            let _ = sender.send(self.execute(of_thread));
        });
        let running =
            running.map_err(|error| CallError::Failed(format!("cannot start a thread: {error}")))?;
        loop {
            match receiver.recv_timeout(POLL) {
                Ok(result) => return running.join().map_or_else(|_| Err(died()), |()| result),
                Err(RecvTimeoutError::Disconnected) => return Err(died()),
                Err(RecvTimeoutError::Timeout) if !interrupt.is_requested() && is_stopped() => {
                    interrupt.request(Signal::Interrupt);
                    notice("stopping now");
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Runs the command on this thread, which no other command uses.
    fn execute(self, interrupt: Interrupt) -> Result<Vec<u8>, CallError> {
        allocator::keep_freed_memory();
        threads::use_own_pool();
        interrupt.replace_signals();
        if let Some(environments) = self.environments {
            provided::provide(environments);
        }
        if let Some(observer) = self.observer {
            telemetry::observe(observer);
        }
        let cli = cli::parse([OsString::from("ale-train")].into_iter().chain(self.arguments))?;
        let mut out = Vec::new();
        commands::run(cli, &mut StandardOutput(&mut out))?;
        Ok(out)
    }
}
