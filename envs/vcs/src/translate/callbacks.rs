//! Functions that translated code calls to access the chips.

// Translated code enters these functions and holds the machine by a raw pointer; see `translate::enter`.
#![allow(unsafe_code)]

use crate::cpu::Bus;
use crate::machine::Machine;
use crate::tia::registers::WSYNC;

/// Flag in a result: the frame has ended, and the CPU stops after the current instruction.
pub(super) const STOP: u32 = 1 << 31;

/// Accesses an address below the cartridge at a CPU cycle. For a read, `value` is the last byte on the bus,
/// and the result is the byte read. For a write, the result is the cycle after it, with [`STOP`] if the frame
/// has ended.
pub(super) type Access = unsafe extern "C" fn(*mut Machine, address: u32, value: u32, cycles: u32) -> u32;
/// Writes a TIA register other than WSYNC. The result is 0 or [`STOP`].
pub(super) type WriteRegister = unsafe extern "C" fn(*mut Machine, value: u32, cycles: u32) -> u32;

/// # Safety
/// `machine` is valid and not borrowed.
pub(super) unsafe extern "C" fn read(machine: *mut Machine, address: u32, open_bus: u32, cycles: u32) -> u32 {
    // SAFETY: by the function's contract.
    let machine = unsafe { &mut *machine };
    machine.cycles = cycles;
    machine.open_bus = open_bus as u8;
    machine.read(address as u16).into()
}

/// Reads a register of the RIOT.
///
/// # Safety
/// `machine` is valid and not borrowed.
pub(super) unsafe extern "C" fn read_riot(machine: *mut Machine, address: u32, _: u32, cycles: u32) -> u32 {
    // SAFETY: by the function's contract.
    let machine = unsafe { &mut *machine };
    let value = machine.read_riot(address as u16, cycles);
    machine.open_bus = value;
    value.into()
}

/// Returns the number of iterations of a loop waiting for the timer that may be skipped. `least_and_period`
/// packs the least count for which the loop continues (8 bits) and the cycles of an iteration.
///
/// # Safety
/// `machine` is valid and not borrowed.
pub(super) unsafe extern "C" fn idle_rounds(
    machine: *mut Machine,
    least_and_period: u32,
    most: u32,
    first_read: u32,
) -> u32 {
    // SAFETY: by the function's contract.
    let machine = unsafe { &*machine };
    machine.riot.reads_before(least_and_period as u8, first_read, least_and_period >> 8).min(most)
}

/// Writes WSYNC where access times matter. Holds the CPU until the end of the line.
///
/// # Safety
/// `machine` is valid and not borrowed.
pub(super) unsafe extern "C" fn wait(machine: *mut Machine, _: u32, value: u32, cycles: u32) -> u32 {
    // SAFETY: by the function's contract.
    let machine = unsafe { &mut *machine };
    machine.tia.write(WSYNC, value as u8, cycles);
    (cycles + machine.tia.cycles_to_next_line((cycles as i32).wrapping_mul(3))) | stop(machine)
}

/// # Safety
/// `machine` is valid and not borrowed.
pub(super) unsafe extern "C" fn write(machine: *mut Machine, address: u32, value: u32, cycles: u32) -> u32 {
    // SAFETY: by the function's contract.
    let machine = unsafe { &mut *machine };
    machine.cycles = cycles;
    machine.write(address as u16, value as u8);
    machine.cycles | stop(machine)
}

/// # Safety
/// `machine` is valid and not borrowed.
unsafe extern "C" fn write_register<const REGISTER: u16>(
    machine: *mut Machine,
    value: u32,
    cycles: u32,
) -> u32 {
    // SAFETY: by the function's contract.
    let machine = unsafe { &mut *machine };
    machine.tia.write(REGISTER, value as u8, cycles);
    stop(machine)
}

fn stop(machine: &Machine) -> u32 {
    if machine.stops() { STOP } else { 0 }
}

/// Returns the function that writes a TIA register. `None` for WSYNC.
pub(super) fn register_write(register: u16) -> Option<WriteRegister> {
    macro_rules! table {
        ($($register:literal)*) => {
            [$(write_register::<$register> as WriteRegister),*]
        };
    }
    static TABLE: [WriteRegister; 64] = table!(
        0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
        32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63
    );
    (register != WSYNC).then(|| TABLE[usize::from(register) % TABLE.len()])
}
