use crate::checkpoint::CheckpointWriter;
use crate::interrupt::Interrupt;
use crate::telemetry::{Printer, Telemetry};

/// The services of the process that the training loop uses.
pub(super) struct Services<'a> {
    pub(super) telemetry: &'a mut Telemetry,
    pub(super) writer: &'a mut CheckpointWriter,
    /// The request to stop that this process received; the processes of a team stop together.
    pub(super) local_interrupt: &'a Interrupt,
    pub(super) printer: &'a Printer,
}
