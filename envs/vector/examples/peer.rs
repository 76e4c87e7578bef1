//! The Rust workloads of ale-train for `benches/peers`. They are set up once and measured on request.
//!
//! `cargo run --release -p vector --example peer -- WORK ...`
//!
//! | WORK | workload | rate |
//! |---|---|---|
//! | `emulator:GAME` | `act` in a loop, one game, one thread | frames/s |
//! | `interpreted:GAME` | the same without native code | frames/s |
//! | `vector:GAME,...:ENVSxTHREADS` | a vector environment with `ENVS` environments of each game | frames/s |
//! | `vector:GAME,...:ENVSxTHREADS/BATCH` | the same, with batches of the environments that finish first | frames/s |
//! | `reset:GAME`, `seeded-reset:GAME` | resets of one environment | resets/s |
//!
//! The program prints `ready` after setup and warm-up. Then it answers every line `INDEX SECONDS` on standard input
//! with the rate of that workload, measured for that time.

mod play;

use std::error::Error;
use std::io;
use std::time::Duration;

use play::{Batches, Emulator, Work, vector_env};
use rl_env::{ResetSeeds, VectorEnv};
use vcs::Execution;
use vector::{AtariVectorEnv, PoolOptions};

/// The number of resets before the measurement.
const WARM_UP: usize = 60;

fn main() -> Result<(), Box<dyn Error>> {
    let mut works = std::env::args().skip(1).map(|text| work(&text)).collect::<Result<Vec<_>, _>>()?;
    println!("ready");
    for line in io::stdin().lines() {
        let line = line?;
        let (index, seconds) = line.split_once(' ').ok_or("a request is INDEX SECONDS")?;
        let work = works.get_mut(index.parse::<usize>()?).ok_or("the index of a workload is out of range")?;
        println!("{}", work.rate(Duration::from_secs_f64(seconds.parse()?))?);
    }
    Ok(())
}

fn work(text: &str) -> Result<Box<dyn Work>, Box<dyn Error>> {
    let parts: Vec<&str> = text.split(':').collect();
    Ok(match parts[..] {
        ["emulator", game] => Box::new(Emulator::new(game, Execution::WhenHot)?),
        ["interpreted", game] => Box::new(Emulator::new(game, Execution::Interpreted)?),
        ["vector", games, shape] => {
            let (num_envs, pool) = self::shape(shape)?;
            Box::new(Batches::new(&games.split(',').collect::<Vec<_>>(), num_envs, pool)?)
        }
        ["reset", game] => Box::new(Resets::new(game, false)?),
        ["seeded-reset", game] => Box::new(Resets::new(game, true)?),
        _ => return Err(format!("unknown workload {text}: see the documentation of this example").into()),
    })
}

/// Parses `ENVSxTHREADS[/BATCH]`.
fn shape(text: &str) -> Result<(usize, PoolOptions), Box<dyn Error>> {
    let (sizes, batch_size) = text.split_once('/').unwrap_or((text, "0"));
    let (num_envs, num_threads) =
        sizes.split_once('x').ok_or("a shape is ENVSxTHREADS or ENVSxTHREADS/BATCH")?;
    let (batch_size, num_threads) = (batch_size.parse()?, num_threads.parse()?);
    Ok((num_envs.parse()?, PoolOptions { batch_size, num_threads, ..PoolOptions::default() }))
}

/// Resets of one environment, including no-ops. Counts resets.
struct Resets {
    env: AtariVectorEnv,
    /// The next seed, if resets are seeded. A seeded reset starts the game as if it had just been loaded.
    seed: Option<u64>,
}

impl Resets {
    /// Creates and warms up one environment.
    fn new(id: &str, seeded: bool) -> Result<Self, Box<dyn Error>> {
        let mut resets = Self {
            env: vector_env(&[id], 1, PoolOptions { num_threads: 1, ..PoolOptions::default() })?,
            seed: seeded.then_some(1),
        };
        for _ in 0..WARM_UP {
            resets.run_once()?;
        }
        Ok(resets)
    }
}

impl Work for Resets {
    fn run_once(&mut self) -> Result<f64, Box<dyn Error>> {
        let seeds = self.seed.map_or(ResetSeeds::Continue, ResetSeeds::From);
        self.seed = self.seed.map(|seed| seed + 1);
        self.env.reset(seeds)?;
        Ok(1.0)
    }
}
