//! The behaviours of the machine and of the environment's loop that games depend on, one test for each.
//!
//! The expectations were worked out by hand. `verify.py` runs the same programs in ale-py and compares RAM and screen.
//!
//! Tested elsewhere: the CPU (open bus, order of operands, decimal mode, BRK, LAX, JAM) in `vcs/tests/cpu_quirks.rs`, bank
//! switching and the display processor in `vcs/src/cart/tests.rs`, snapshots in `snapshots.rs`, and long runs of all games
//! in `golden.rs` and `checkpoints.rs`.

mod environment;
mod frames;
mod motion;
mod objects;
mod program;
mod timer;
