//! The counterpart of `translate` for WebAssembly, where a program cannot add code to itself: the interpreter executes
//! everything.

use crate::cart::Cartridge;
use crate::cpu::Cpu;
use crate::execution::Execution;
use crate::machine::Machine;

/// The native code of a ROM image, of which there is none.
#[derive(Debug)]
pub(crate) enum Translation {}

impl Translation {
    pub(crate) fn new(_: &Cartridge, _: Execution) -> Option<Self> {
        None
    }

    pub(crate) fn compiled_regions(&self) -> usize {
        match *self {}
    }

    pub(crate) fn run(&self, _: &mut Cpu, _: &mut Machine, _: u32) {
        match *self {}
    }
}
