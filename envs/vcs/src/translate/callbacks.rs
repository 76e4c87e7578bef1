//! Functions that translated code calls to access the chips.

// Translated code enters these functions and holds the machine by a raw pointer; see `translate::enter`.
#![allow(unsafe_code)]

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crate::cpu::Bus;
use crate::machine::Machine;

thread_local! {
    /// The payload of the first panic in a callback since the last call of [`resume_panic`].
    static PANIC: Cell<Option<Box<dyn Any + Send>>> = const { Cell::new(None) };
}

/// Resumes a panic of a callback. A panic cannot unwind through translated code, which has unwind information on
/// Windows only. Instead it ends the frame, so that the code leaves by its usual exit.
pub(super) fn resume_panic() {
    if let Some(payload) = PANIC.take() {
        resume_unwind(payload);
    }
}

/// Calls a function. If it panics, abandons the frame and returns 0.
#[inline(always)]
#[allow(clippy::inline_always)] // The callbacks are called for most accesses to the chips.
fn guard(machine: &mut Machine, access: impl FnOnce(&mut Machine) -> u32) -> u32 {
    catch_unwind(AssertUnwindSafe(|| access(machine))).unwrap_or_else(|payload| {
        abandon(machine, payload);
        0
    })
}

#[cold]
fn abandon(machine: &mut Machine, payload: Box<dyn Any + Send>) {
    machine.tia.abandon_frame();
    PANIC.set(PANIC.take().or(Some(payload)));
}

/// Flag in a result: the frame has ended, and the CPU stops after the current instruction.
pub(super) const STOP: u32 = 1 << 31;

/// Accesses an address below the cartridge at a CPU cycle. For a read, `value` is the last byte on the bus,
/// and the result is the byte read. For a write, the result is the cycle after it, with [`STOP`] if the frame
/// has ended.
pub(super) type Access = unsafe extern "C" fn(*mut Machine, address: u32, value: u32, cycles: u32) -> u32;

/// # Safety
/// `machine` is valid and not borrowed.
pub(super) unsafe extern "C" fn read(machine: *mut Machine, address: u32, open_bus: u32, cycles: u32) -> u32 {
    // SAFETY: by the function's contract.
    let machine = unsafe { &mut *machine };
    guard(machine, |machine| {
        machine.cycles = cycles;
        machine.open_bus = open_bus as u8;
        machine.read(address as u16).into()
    })
}

/// Reads a register of the RIOT.
///
/// # Safety
/// `machine` is valid and not borrowed.
pub(super) unsafe extern "C" fn read_riot(machine: *mut Machine, address: u32, _: u32, cycles: u32) -> u32 {
    // SAFETY: by the function's contract.
    let machine = unsafe { &mut *machine };
    guard(machine, |machine| {
        let value = machine.read_riot(address as u16, cycles);
        machine.open_bus = value;
        value.into()
    })
}

/// Returns the number of iterations that may be skipped in a loop that waits for the timer. An iteration takes `period`
/// cycles. The loop continues while the count is between the lowest byte of `counts` and the next one, inclusive.
pub(super) type IdleIterations =
    unsafe extern "C" fn(*mut Machine, counts: u32, period: u32, first_read: u32) -> u32;

/// # Safety
/// `machine` is valid and not borrowed.
pub(super) unsafe extern "C" fn idle_iterations(
    machine: *mut Machine,
    counts: u32,
    period: u32,
    first_read: u32,
) -> u32 {
    // SAFETY: by the function's contract.
    let machine = unsafe { &mut *machine };
    guard(machine, |machine| {
        let until_log_end = machine.tia.log_end().saturating_sub(first_read) / period;
        let [lowest, highest, ..] = counts.to_le_bytes();
        machine.riot.reads_within(lowest..=highest, first_read, period).min(until_log_end)
    })
}

/// # Safety
/// `machine` is valid and not borrowed.
pub(super) unsafe extern "C" fn write(machine: *mut Machine, address: u32, value: u32, cycles: u32) -> u32 {
    // SAFETY: by the function's contract.
    let machine = unsafe { &mut *machine };
    guard(machine, |machine| {
        machine.cycles = cycles;
        machine.write(address as u16, value as u8);
        0
    });
    machine.cycles | stop(machine)
}

fn stop(machine: &Machine) -> u32 {
    if machine.stops() { STOP } else { 0 }
}
