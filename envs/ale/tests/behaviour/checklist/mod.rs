//! The behaviours of the machine and of the environment's loop that games depend on, one test for each.
//!
//! The expectations were worked out by hand. `verify.py` runs the same programs in ale-py and compares RAM and screen.
//!
//! `vcs/tests/cpu/quirks.rs` tests the CPU: open bus, order of operands, decimal mode, BRK, LAX, JAM.
//! `vcs/src/cart/tests.rs` tests bank switching and the display processor. `tests/games` tests snapshots and long runs
//! of all games.

mod environment;
mod frames;
mod motion;
mod objects;
mod program;
mod timer;
