//! Translates hot code in ROM to native code.
//!
//! ROM never changes, so code is compiled once for all consoles that share a translation. The interpreter in
//! [`cpu`](crate::cpu) supports every instruction. It executes rare code, instructions that the translator does not
//! support, and accesses that turn out to be special at run time (`Emitter::interpret_if`). Tests compare native code
//! with it.
//!
//! # Words
//!
//! * A *unit* ([`Unit`](crate::cart::Unit)) is the largest piece of ROM that bank switching maps as a whole. While the
//!   program runs in a unit, an address alone determines the byte there.
//! * An address is *plain* if reading it yields a byte of ROM and has no side effect.
//! * A *basic block* is a list of instructions that is entered at the first one and left at the last. The address of
//!   the first one is its *leader*.
//! * A *region* is the code of a unit that is reachable from one entry point: up to 80 instructions in basic blocks. It
//!   is the unit of compilation and becomes one native function.
//! * A *slot* holds the address of the native code for one address of one bank, or 0 if there is none. Each *table* of
//!   slots belongs to one value of the program counter's three highest bits.
//! * A *visit* is an arrival at an address without native code. After enough visits, the address is *hot*, and the
//!   region that begins there is compiled.
//! * The *end of the log* is the CPU cycle from which a write of the TIA ends the frame. Native code stops before it.
//!
//! # From an address to native code
//!
//! ```text
//!          slot of the address
//!    pc ------------------------> native code <-------------+ another slot
//!    ^      |                       |                       |
//!    |      | empty                 | leaves the region ----+
//!    |      v                       |                       | LOOK_UP
//!    |    count the visit           |                       +--------------------------> pc
//!    |      |        | hot          |
//!    |      |        v              | INTERPRET: the instruction is special,
//!    |      |   compile the region, | or the log may end in this basic block
//!    |      |   fill the slot       |
//!    |      v                       |
//!    |    the interpreter <---------+
//!    |    executes one instruction
//!    +------+
//! ```
//!
//! # A native function
//!
//! ```text
//!    load the registers
//!        |
//!        v
//!    basic block --> basic block --> ... branches and jumps within the region stay in the function
//!        |   |           |   |
//!        |   |           |   +---- jump to another region: the result is its slot
//!        |   +-----------|-------- the log may end in this block, or the access is special: INTERPRET
//!        v               v
//!    exit: store the registers and the time, return the result
//! ```
//!
//! `region` finds the basic blocks, `emit` generates their code with `operations`, `memory`, `tia` and `control_flow`,
//! and `exits` leaves it. `native` compiles it, `executable` is the memory of the code, and `callbacks` are the calls
//! from it into the chips.

mod callbacks;
mod control_flow;
mod emit;
mod executable;
mod exits;
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

use crate::cart::Cartridge;
use crate::cpu::{Bus, Cpu};
use crate::execution::Execution;
use crate::machine::Machine;
use emit::INTERPRET;
use native::Native;
use region::Region;

/// Number of visits to an address before its code is compiled. With a higher number, hot code would be interpreted for
/// longer; with a lower one, rarely executed code would be compiled.
const HOT: u32 = 1500;
/// Number of visits that marks an address whose code cannot be compiled.
const NEVER: u32 = u32::MAX;

/// Addresses in the table of a bank.
const BANK: usize = 0x1000;

/// The state of all addresses of a table, by bank and offset in the window.
struct Table {
    /// The slots.
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
        let mut instructions_after_end = instructions.saturating_sub(end / 2);
        while !cpu.jammed && !machine.stops() {
            if machine.cycles >= end {
                if instructions_after_end == 0 {
                    return;
                }
                instructions_after_end -= 1;
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
        let code = self.compile_region(&mut native, pc, machine);
        match code {
            Some(code) => table.code[index].store(code, Ordering::Release),
            None => table.visits[index].store(NEVER, Ordering::Relaxed),
        }
        code
    }

    /// Compiles the region of an address. Returns `None` if its first instruction cannot be translated, or if there is
    /// no room for more code.
    fn compile_region(&self, native: &mut Native, pc: u16, machine: &Machine) -> Option<usize> {
        let slots = |pc: u16| self.table(pc).code.as_ptr();
        // Native code reads the unit without checks.
        let unit = machine.cartridge.unit(pc).filter(|unit| unit.image.end <= self.rom.len())?;
        let region = Region::discover(&unit, &self.rom, pc)?;
        let function = emit::emit(&region, &unit, &self.rom, native.isa(), &slots).ok()?;
        native.compile(function)
    }
}

/// Runs native code. Returns the code to run next, [`INTERPRET`] or [`LOOK_UP`](emit::LOOK_UP).
#[allow(unsafe_code)]
fn enter(code: usize, cpu: &mut Cpu, machine: &mut Machine) -> usize {
    type Code = unsafe extern "C" fn(*mut Cpu, *mut Machine) -> usize;
    let code = std::ptr::with_exposed_provenance::<()>(code);
    // SAFETY: the address comes from `Native::compile`, whose pages live as long as the translation, and `emit` gives
    // the function this signature. The function accesses only the two values, which are borrowed exclusively, the log,
    // which belongs to the machine, the ROM and the tables. The last two live as long as the translation.
    unsafe { std::mem::transmute::<*const (), Code>(code)(cpu, machine) }
}
