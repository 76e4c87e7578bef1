//! The Atari 2600 (Video Computer System), emulated bit for bit like ale-py 0.12.1.
//!
//! [`Console`] is the machine. It knows nothing of rewards, lives or agents, and uses no clock, threads or files.
//! Running it never fails: only [`Cartridge`] returns errors, for ROM images that it does not accept.

// The interpreter of WebAssembly needs none of what is for translated code only.
#![cfg_attr(target_family = "wasm", allow(dead_code, unused_imports))]

mod cart;
mod console;
mod controllers;
mod cpu;
mod execution;
mod latches_read;
mod machine;
mod mt19937;
mod replay;
mod riot;
mod tia;
#[cfg(not(target_family = "wasm"))]
mod translate;
#[cfg(target_family = "wasm")]
mod untranslated;

pub use cart::{Cartridge, CartridgeError, Scheme};
pub use console::{
    Console, ConsoleOptions, ForeignSnapshot, FormerScreens, SYSTEM_SEED, SavedScreens, TvFormat,
};
pub use controllers::{Controller, Inputs, Joystick, Paddle, Switches, Wiring};
pub use cpu::{Bus, Cpu, Mode, OPCODES, Opcode, Operation};
pub use execution::Execution;
pub use machine::RAM;
pub use mt19937::Mt19937;
pub use tia::{SoundGenerator, SoundRegisters, registers};
