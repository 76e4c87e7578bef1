//! The behaviours of the machine and of the environment's loop that games depend on, one test for each.
//!
//! The expectations were worked out by hand. `verify.py` runs the same programs in ale-py and compares RAM and screen.
//!
//! Tested elsewhere: the CPU (open bus, order of operands, decimal mode, BRK, LAX, JAM) in `vcs/tests/cpu/quirks.rs`, bank
//! switching and the display processor in `vcs/src/cart/tests.rs`, snapshots and long runs of all games
//! in `tests/games`.

mod environment;
mod frames;
mod motion;
mod objects;
mod program;
mod timer;
