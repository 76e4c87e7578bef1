//! The Atari 2600 (Video Computer System) as ale-py 0.12.1 emulates it, bit for bit.
//!
//! [`Console`] is the machine. It knows no reward, no life and no agent; it has no clock, no thread and no file.
//! Running it cannot fail; only a ROM image can be refused, by [`Cartridge`].

mod cart;
mod console;
mod controllers;
mod cpu;
mod machine;
mod mt19937;
mod replay;
mod riot;
mod tia;
mod translate;

pub use cart::{Cartridge, CartridgeError, Scheme};
pub use console::{Console, ConsoleOptions, ForeignSnapshot, SYSTEM_SEED, TvFormat};
pub use controllers::{Controller, Inputs, Joystick, Paddle, Switches, Wiring};
pub use cpu::{Bus, Cpu, Mode, OPCODES, Opcode, Operation};
pub use machine::RAM;
pub use mt19937::Mt19937;
pub use tia::registers;
pub use translate::Execution;
