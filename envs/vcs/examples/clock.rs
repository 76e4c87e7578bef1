//! Prints the processor's clock frequency in GHz, to convert times to cycles.
//!
//! `cargo run --release -p vcs --example clock`
//!
//! It times a chain of dependent shifts and exclusive ors, and reports the fastest of several tries. Each of these
//! operations takes one cycle on every x86-64 processor of the last ten years.

use std::hint::black_box;
use std::time::Instant;

const ROUNDS: u32 = 20_000_000;
/// Dependent operations per round.
const OPERATIONS: u32 = 6;
const TRIES: usize = 10;

fn main() {
    let gigahertz = (0..TRIES).map(|_| measure()).fold(0.0, f64::max);
    println!("{gigahertz:.2}");
}

fn measure() -> f64 {
    let start = Instant::now();
    let mut state = black_box(1_u64);
    for _ in 0..ROUNDS {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    black_box(state);
    f64::from(ROUNDS * OPERATIONS) / start.elapsed().as_nanos() as f64
}
