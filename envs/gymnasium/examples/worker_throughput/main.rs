//! Prints the steps per second of environments in worker processes, as a line of JSON.
//!
//! `cargo run --release -p gymnasium-workers --example worker_throughput -- NAME NUM_ENVS WORKERS SECONDS`
//!
//! Actions are random but for the seed. `examples/worker_throughput.py` measures Gymnasium's vector environments in
//! the same way.

#[cfg(unix)]
mod measure;

#[cfg(unix)]
use measure::run;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    run()
}

#[cfg(not(unix))]
fn run() -> Result<(), Box<dyn std::error::Error>> {
    Err("environments in Python are not supported on this system".into())
}
