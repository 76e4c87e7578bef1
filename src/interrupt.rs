//! Ctrl-C and SIGTERM: the first asks the run to stop after its checkpoint, the second ends the program at once.

use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};

use crate::failure::INTERRUPTED;
use crate::telemetry::Printer;

/// Whether somebody has asked the program to stop.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Listens to the signals from now on. Only once a process.
    pub(crate) fn listen(printer: Printer) -> Result<Self> {
        let interrupt = Self::default();
        let requested = Arc::clone(&interrupt.0);
        ctrlc::set_handler(move || {
            if requested.swap(true, Ordering::Relaxed) {
                process::exit(i32::from(INTERRUPTED));
            }
            printer.say("stopping after this update; once more to stop at once, without a checkpoint");
        })
        .context("cannot listen to signals")?;
        Ok(interrupt)
    }

    /// Whether the run is to stop.
    pub(crate) fn is_requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
