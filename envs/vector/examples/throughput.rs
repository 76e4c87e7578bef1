//! Prints the frames per second of a game, alone and in a vector environment, as a line of JSON.
//!
//! `cargo run --release -p vector --example throughput -- GAME NUM_ENVS NUM_THREADS SECONDS`
//!
//! `emulator`: frames per second of `act` in a loop on one thread. `vector`: emulated frames per second of `NUM_ENVS`
//! environments with the standard preprocessing. Both are measured after a warm-up in which hot code is translated.

mod play;

use std::error::Error;
use std::time::Duration;

use play::{Batches, Emulator, Work};
use vcs::Execution;
use vector::PoolOptions;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [id, num_envs, num_threads, seconds] = arguments.as_slice() else {
        return Err("usage: throughput GAME NUM_ENVS NUM_THREADS SECONDS".into());
    };
    let (num_envs, num_threads) = (num_envs.parse()?, num_threads.parse()?);
    let limit = Duration::from_secs_f64(seconds.parse()?);
    let emulator = Emulator::new(id, Execution::default())?.rate(limit)?;
    let pool = PoolOptions { num_threads, ..PoolOptions::default() };
    let vector = Batches::new(&[id], num_envs, pool)?.rate(limit)?;
    println!(
        "{{\"game\":\"{id}\",\"num_envs\":{num_envs},\"num_threads\":{num_threads},\"emulator\":{emulator:.1},\"vector\":{vector:.1}}}"
    );
    Ok(())
}
