//! The CPU, opcode by opcode and quirk by quirk.

mod chip;
mod opcodes;
mod quirks;
