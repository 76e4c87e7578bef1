//! The processor's clock in GHz, as one number: what cycles are converted with.
//!
//! `cargo run --release -p vcs --example clock`
//!
//! A chain of shifts and exclusive ors, each of which waits for the one before: one cycle each on every x86-64 processor
//! of the last ten years. The fastest of several tries counts, for others are disturbed.

use std::hint::black_box;
use std::time::Instant;

const ROUNDS: u32 = 20_000_000;
/// Dependent operations of a round.
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
