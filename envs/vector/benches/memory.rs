//! Measures the memory of an environment, excluding its rows in the batches, by counting allocations.
//!
//! `cargo bench -p vector --bench memory` fails above the limit.

use std::alloc::{GlobalAlloc, Layout, System};
use std::error::Error;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};

use ale::{AtariOptions, game, roms};
use rl_env::{Actions, ResetSeeds, VectorEnv};
use vector::{AtariVectorEnv, PoolOptions};

/// The maximum size of an environment in bytes.
const LIMIT: usize = 100_000;
const GAME: &str = "harvest";
/// The number of environments by which the two measured vector environments differ. Taking the difference cancels their
/// fixed costs.
const MORE: usize = 64;
/// The batch being filled and the one that the caller reads.
const BATCHES: usize = 2;

/// An allocator that counts the bytes in use.
struct Counting;

static BYTES: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is forwarded to the system allocator unchanged.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        BYTES.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller upholds the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        BYTES.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller upholds the contract of `dealloc`, and the pointer came from the same allocator.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    // The first vector environment of a process leaves translated code behind, which later ones share.
    held(1)?;
    let (few, row) = held(1)?;
    let (many, _) = held(1 + MORE)?;
    let each = (many - few) / MORE - BATCHES * row;
    let verdict = if each < LIMIT { "below" } else { "NOT below" };
    println!("{GAME}: {each} bytes in addition to {BATCHES} rows of {row} bytes, {verdict} {LIMIT}");
    Ok(if each < LIMIT { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Returns the bytes in use by a vector environment after some steps, and the bytes of an observation.
fn held(num_envs: usize) -> Result<(usize, usize), Box<dyn Error>> {
    const STEPS: usize = 100;
    let before = BYTES.load(Ordering::Relaxed);
    let rom = roms::built_in(GAME).ok_or("the game is not built in")?.into();
    let pool = PoolOptions { num_threads: 1, ..PoolOptions::default() };
    let mut env = AtariVectorEnv::of_games([(game(GAME)?, rom)], num_envs, &AtariOptions::default(), pool)?;
    let row = env.single_observation_space().byte_len();
    env.reset(ResetSeeds::From(1))?;
    let actions = vec![1; num_envs];
    for _ in 0..STEPS {
        env.step(Actions::Discrete(&actions))?;
    }
    drop(actions);
    Ok((BYTES.load(Ordering::Relaxed) - before, row))
}
