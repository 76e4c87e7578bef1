//! The behaviours of the machine and of the environment's loop that games depend on, each pinned by a test that is named
//! after it.
//!
//! What is expected was worked out by hand. `verify.py` runs the same programs in ale-py and compares RAM and picture.
//!
//! Not here but elsewhere: the CPU's (open bus, order of operands, decimal mode, BRK, LAX, JAM) in
//! `vcs/tests/cpu_quirks.rs`, bank switching and the display processor in `vcs/src/cart/tests.rs`, what a restored state
//! goes on with in `snapshots.rs`, and the equality of all games over long runs in `golden.rs` and `checkpoints.rs`.

mod environment;
mod frames;
mod motion;
mod objects;
mod program;
mod timer;
