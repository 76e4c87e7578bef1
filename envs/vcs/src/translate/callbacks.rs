//! What translated code calls: accesses to the chips.

// The functions are entered from translated code, which holds the machine by a raw pointer; see `Translation::enter`.
#![allow(unsafe_code)]

use crate::cpu::Bus;
use crate::machine::Machine;
use crate::tia::registers::WSYNC;

/// Set in a result when the frame has ended, so that the CPU stops after this instruction.
pub(super) const STOP: u32 = 1 << 31;

/// Accesses an address below the cartridge at a time in CPU cycles. For a read, `value` is what was last on the bus, and
/// the result is the byte; for a write, the result is the time afterwards, perhaps with [`STOP`].
pub(super) type Access = unsafe extern "C" fn(*mut Machine, address: u32, value: u32, cycles: u32) -> u32;
/// Writes a TIA register that does not hold the CPU; the result is 0 or [`STOP`].
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

/// How many rounds of a loop that waits for the timer may be left out. `least_and_period` is the least count for which the
/// loop goes on, and the cycles of a round times 256.
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

/// Writes WSYNC where moments matter, which holds the CPU until the line's end.
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

/// The function that writes a TIA register.
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
