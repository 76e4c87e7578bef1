//! A fixed workload for `benches/footprint`, which counts the memory that steps access.
//!
//! `cargo run -p vector --example footprint -- GAME NUM_ENVS`
//!
//! Environments with the standard preprocessing perform fixed actions on one thread. Before each counted step, the
//! program reads more memory than the counter's cache holds.

use std::error::Error;
use std::hint::black_box;

use ale::{AtariOptions, game, roms};
use rl_env::{Actions, ResetSeeds, VectorEnv};
use vector::{AtariVectorEnv, PoolOptions};

/// Steps of all environments together before counting starts.
const WARM_UP: usize = 4_000;
/// Counted steps of each environment.
const STEPS: usize = 40;
/// Twice the size of the simulated cache.
const MEMORY: usize = 16 << 20;
const CACHE_LINE: usize = 64;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [id, num_envs] = arguments.as_slice() else {
        return Err("usage: footprint GAME NUM_ENVS".into());
    };
    let num_envs = num_envs.parse()?;
    let games = [(game(id)?, roms::for_tests(id).ok_or("the ROM is missing")?)];
    let pool = PoolOptions { num_threads: 1, ..PoolOptions::default() };
    let mut env = AtariVectorEnv::of_games(games, num_envs, &AtariOptions::default(), pool)?;
    env.reset(ResetSeeds::From(1))?;
    let mut actions = vec![0; num_envs];
    let warm_up = WARM_UP / num_envs;
    for step in 0..warm_up {
        choose(&mut actions, step);
        env.step(Actions::Discrete(&actions))?;
    }
    let memory = vec![1_u8; MEMORY];
    for step in warm_up..warm_up + STEPS {
        choose(&mut actions, step);
        black_box(memory.iter().step_by(CACHE_LINE).map(|&byte| u32::from(byte)).sum::<u32>());
        counted(&mut env, &actions)?;
    }
    Ok(())
}

/// The counter recognises this function by its name.
#[inline(never)]
fn counted(env: &mut AtariVectorEnv, actions: &[i32]) -> Result<(), Box<dyn Error>> {
    env.step(Actions::Discrete(actions))?;
    Ok(())
}

/// Chooses one of the first three actions, which every game has, for eight steps each.
fn choose(actions: &mut [i32], step: usize) {
    for (env, action) in actions.iter_mut().enumerate() {
        *action = ((env + step / 8) % 3) as i32;
    }
}
