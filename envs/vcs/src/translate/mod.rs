//! Translates hot code in ROM to native code.
//!
//! ROM never changes, so code is compiled once for all consoles that share a translation. The interpreter in
//! [`cpu`](crate::cpu) supports every instruction. It executes rare code, instructions that the translator does not
//! support, and accesses that turn out to be special at run time (`Emitter::interpret_if`). Tests compare native code
//! with it.

mod callbacks;
mod emit;
mod instruction;
mod memory;
mod native;
mod operations;
mod region;
#[cfg(test)]
mod tests;
mod tia;
mod wait;

use std::fmt;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use serde::{Deserialize, Serialize};

use crate::cart::Cartridge;
use crate::cpu::{Bus, Cpu};
use crate::machine::Machine;
use emit::INTERPRET;
use native::Native;
use region::Region;

/// The execution mode of a console. The modes differ only in speed: after every frame they all leave the machine in
/// the same state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Execution {
    /// Interprets code until it has been executed often, then compiles it to native code.
    #[default]
    WhenHot,
    /// Compiles code to native code before its first execution. Slow to start; meant for tests.
    Eager,
    /// Interprets all code.
    Interpreted,
}

/// Number of visits to an address before its code is compiled. With a higher number, hot code would be interpreted for
/// longer; with a lower one, rarely executed code would be compiled.
const HOT: u32 = 1500;
/// Number of visits that marks an address whose code cannot be compiled.
const NEVER: u32 = u32::MAX;

/// Addresses in the table of a bank.
const BANK: usize = 0x1000;

/// The state of the code of all banks, by bank and offset in the window.
struct Table {
    /// The native code.
    code: Box<[Slot]>,
    /// The number of visits of an address without native code, or [`NEVER`].
    visits: Box<[AtomicU32]>,
}

/// The address of native code, or 0. Native code reads it to continue at another address.
type Slot = AtomicUsize;

impl Table {
    fn new(banks: usize) -> Self {
        Self {
            code: std::iter::repeat_with(Slot::default).take(banks * BANK).collect(),
            visits: std::iter::repeat_with(AtomicU32::default).take(banks * BANK).collect(),
        }
    }
}

/// The native code of a ROM image, shared by consoles.
pub(crate) struct Translation {
    rom: Arc<[u8]>,
    /// A table for each value of the program counter's three highest bits.
    tables: [OnceLock<Table>; 8],
    banks: usize,
    /// Number of visits to an address before its code is compiled.
    hot: u32,
    compiler: Mutex<Native>,
    /// Number of CPU cycles executed by native code.
    #[cfg(test)]
    executed: std::sync::atomic::AtomicU64,
}

impl fmt::Debug for Translation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Translation").finish_non_exhaustive()
    }
}

impl Translation {
    /// Creates an empty translation. Returns `None` if everything must be interpreted: `execution` says so,
    /// the scheme is not translated, or native code is not available on this system.
    pub(crate) fn new(cartridge: &Cartridge, execution: Execution) -> Option<Self> {
        let hot = match execution {
            Execution::WhenHot => HOT,
            Execution::Eager => 0,
            Execution::Interpreted => return None,
        };
        Some(Self {
            rom: Arc::clone(cartridge.rom()),
            tables: Default::default(),
            banks: cartridge.code_banks()?,
            hot,
            compiler: Mutex::new(Native::new()?),
            #[cfg(test)]
            executed: std::sync::atomic::AtomicU64::new(0),
        })
    }

    /// Returns the number of compiled regions.
    pub(crate) fn compiled_regions(&self) -> usize {
        self.compiler.lock().map_or(0, |native| native.compiled())
    }

    /// The number of CPU cycles executed by native code.
    #[cfg(test)]
    pub(crate) fn executed(&self) -> u64 {
        self.executed.load(Ordering::Relaxed)
    }

    /// Executes a frame whose writes are logged. Stops when it ends, when the CPU is jammed, or after at most
    /// `instructions` instructions. A panic in a callback unwinds from here.
    pub(crate) fn run(&self, cpu: &mut Cpu, machine: &mut Machine, instructions: u32) {
        let end = machine.tia.log_end();
        // Every instruction takes at least two cycles.
        let mut left = instructions.saturating_sub(end / 2);
        while !cpu.jammed && !machine.stops() {
            if machine.cycles >= end {
                if left == 0 {
                    return;
                }
                left -= 1;
            } else if let Some(code) = self.code(cpu.pc, machine) {
                #[cfg(test)]
                let before = machine.cycles;
                let mut result = code;
                while result > INTERPRET {
                    result = enter(result, cpu, machine);
                }
                #[cfg(test)]
                self.executed.fetch_add((machine.cycles - before).into(), Ordering::Relaxed);
                // The code may have continued at other addresses before it found that the log ends.
                if result != INTERPRET || machine.cycles >= end || machine.stops() {
                    continue;
                }
            }
            cpu.step(machine);
        }
        callbacks::resume_panic();
    }

    /// Returns the native code at an address. Counts the visit, and compiles the code if it is hot.
    #[inline]
    fn code(&self, pc: u16, machine: &Machine) -> Option<usize> {
        let index = machine.cartridge.code_index(pc)?;
        let table = self.table(pc);
        let code = table.code.get(index)?.load(Ordering::Acquire);
        if code != 0 {
            return Some(code);
        }
        let visits = &table.visits[index];
        match visits.load(Ordering::Relaxed) {
            NEVER => None,
            count if count >= self.hot => self.compile(index, pc, machine),
            count => {
                visits.store(count + 1, Ordering::Relaxed);
                None
            }
        }
    }

    /// Returns the table for an address.
    #[inline]
    fn table(&self, pc: u16) -> &Table {
        self.tables[usize::from(pc >> 13)].get_or_init(|| Table::new(self.banks))
    }

    #[cold]
    fn compile(&self, index: usize, pc: u16, machine: &Machine) -> Option<usize> {
        // While another thread compiles, this one continues to interpret.
        let mut native = self.compiler.try_lock().ok()?;
        let table = self.table(pc);
        let code = table.code[index].load(Ordering::Acquire);
        if code != 0 {
            return Some(code);
        }
        let slots = |pc: u16| self.table(pc).code.as_ptr();
        // Native code reads the unit without checks.
        let unit = machine.cartridge.unit(pc).filter(|unit| unit.image.end <= self.rom.len());
        let code = unit.and_then(|unit| {
            let region = Region::discover(&unit, &self.rom, pc)?;
            let function = emit::emit(&region, &unit, &self.rom, native.isa(), &slots).ok()?;
            native.compile(function)
        });
        match code {
            Some(code) => table.code[index].store(code, Ordering::Release),
            None => table.visits[index].store(NEVER, Ordering::Relaxed),
        }
        code
    }
}

/// Runs native code. Returns the code to run next, or 0 or [`INTERPRET`].
#[allow(unsafe_code)]
fn enter(code: usize, cpu: &mut Cpu, machine: &mut Machine) -> usize {
    type Code = unsafe extern "C" fn(*mut Cpu, *mut Machine) -> usize;
    let code = std::ptr::with_exposed_provenance::<()>(code);
    // SAFETY: the address comes from `Native::compile`, whose pages live as long as the translation, and
    // `emit` gives the function this signature. The function accesses only the two values, which are borrowed
    // exclusively, the log, which belongs to the machine, and the ROM and the tables, which live as long as the
    // translation.
    unsafe { std::mem::transmute::<*const (), Code>(code)(cpu, machine) }
}
