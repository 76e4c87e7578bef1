//! Translation: code in ROM that is executed often becomes native code.
//!
//! A ROM never changes, so what is compiled once serves every console that plays the game. The interpreter in
//! [`cpu`](crate::cpu) stays complete: it executes what is executed rarely, every instruction that the translator does
//! not know, and every access that is odd at run time (`Emitter::interpret_if`); it is also the oracle.

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
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use serde::{Deserialize, Serialize};

use crate::cart::Cartridge;
use crate::cpu::{Bus, Cpu};
use crate::machine::Machine;
use emit::INTERPRET;
use native::Native;
use region::Region;

/// How a console executes the code of its cartridge. The modes differ in speed only: each leaves the same machine after
/// every frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Execution {
    /// Interprets code at first, and compiles to native code what is executed often.
    #[default]
    WhenHot,
    /// Compiles code when it is first executed.
    Eager,
    /// Interprets all code.
    Interpreted,
}

/// How often an address is come to before its code is compiled. More would interpret for longer, less would compile
/// what is hardly executed.
const HOT: u32 = 1500;
/// The visits of an address whose code cannot be compiled.
const NEVER: u32 = u32::MAX;
/// Callbacks return the time beside a bit of their own. Only programs that never end a frame come so far.
const LATEST: u32 = 1 << 30;

/// Addresses in a bank's table.
const BANK: usize = 0x1000;

/// What is known of the code at an address.
#[derive(Default)]
struct Entry {
    code: AtomicPtr<()>,
    visits: AtomicU32,
}

/// The translated code of a ROM, shared by all its consoles.
pub(crate) struct Translation {
    rom: Arc<[u8]>,
    /// For each value of the program counter's three highest bits: by bank and address in the window.
    tables: [OnceLock<Box<[Entry]>>; 8],
    banks: usize,
    /// How often an address is come to before its code is compiled.
    hot: u32,
    compiler: Mutex<Native>,
    /// Instructions that native code has executed.
    #[cfg(test)]
    executed: std::sync::atomic::AtomicU64,
}

impl fmt::Debug for Translation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Translation").finish_non_exhaustive()
    }
}

impl Translation {
    /// Returns an empty translation. Returns `None` if the interpreter has to execute everything: because `execution`
    /// says so, because the cartridge's scheme is not translated, or because native code cannot be had here.
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

    /// The number of regions that have been compiled.
    pub(crate) fn compiled_regions(&self) -> usize {
        self.compiler.lock().map_or(0, |native| native.compiled())
    }

    /// The number of instructions that native code has executed.
    #[cfg(test)]
    pub(crate) fn executed(&self) -> u64 {
        self.executed.load(Ordering::Relaxed)
    }

    /// Executes up to `instructions` instructions; fewer if the frame ends or the CPU is jammed.
    pub(crate) fn run(&self, cpu: &mut Cpu, machine: &mut Machine, instructions: u32) {
        if machine.cycles >= LATEST {
            return cpu.run(machine, instructions);
        }
        let mut budget = instructions;
        while budget > 0 && !cpu.jammed && !machine.stops() {
            if let Some(code) = self.code(cpu.pc, machine) {
                let result = enter(code, cpu, machine, budget);
                let left = result & (INTERPRET - 1);
                #[cfg(test)]
                self.executed.fetch_add((budget - left).into(), Ordering::Relaxed);
                budget = left;
                if result & INTERPRET == 0 {
                    continue;
                }
            }
            if budget > 0 {
                cpu.step(machine);
                budget -= 1;
            }
        }
    }

    /// The translated code at an address; counts the visit, and compiles when there were enough.
    #[inline]
    fn code(&self, pc: u16, machine: &Machine) -> Option<*const ()> {
        let index = machine.cartridge.code_index(pc)?;
        let table = self.tables[usize::from(pc >> 13)]
            .get_or_init(|| std::iter::repeat_with(Entry::default).take(self.banks * BANK).collect());
        let entry = table.get(index)?;
        let code = entry.code.load(Ordering::Acquire);
        if !code.is_null() {
            return Some(code);
        }
        match entry.visits.load(Ordering::Relaxed) {
            NEVER => None,
            visits if visits >= self.hot => self.compile(entry, pc, machine),
            visits => {
                entry.visits.store(visits + 1, Ordering::Relaxed);
                None
            }
        }
    }

    #[cold]
    fn compile(&self, entry: &Entry, pc: u16, machine: &Machine) -> Option<*const ()> {
        let mut native = self.compiler.lock().ok()?;
        let code = entry.code.load(Ordering::Acquire);
        if !code.is_null() {
            return Some(code);
        }
        let code = machine.cartridge.unit(pc).and_then(|unit| {
            let region = Region::discover(&unit, &self.rom, pc)?;
            let function = emit::emit(&region, &unit, &self.rom, native.isa()).ok()?;
            native.compile(function)
        });
        match code {
            Some(code) => entry.code.store(code.cast_mut().cast(), Ordering::Release),
            None => entry.visits.store(NEVER, Ordering::Relaxed),
        }
        code.map(<*const u8>::cast)
    }
}

/// Runs translated code.
#[allow(unsafe_code)]
fn enter(code: *const (), cpu: &mut Cpu, machine: &mut Machine, budget: u32) -> u32 {
    type Code = unsafe extern "C" fn(*mut Cpu, *mut Machine, u32) -> u32;
    // SAFETY: the address comes from `Native::compile`, whose pages live as long as the translation, and the function
    // has this signature (`emit`). It touches nothing but the two values, to which it has the only references, and the
    // ROM, which lives as long as the translation too.
    unsafe { std::mem::transmute::<*const (), Code>(code)(cpu, machine, budget) }
}
