//! Frames per second of one game, alone and in a vector environment, as one line of JSON.
//!
//! `cargo run --release -p vector --example throughput -- GAME NUM_ENVS NUM_THREADS SECONDS`
//!
//! Both measurements begin after a warm-up, in which hot code is translated. `emulator`: frames per second of one game on one thread, a random minimal action for every frame.
//! `vector`: emulated frames per second of `NUM_ENVS` environments with the standard preprocessing (frame skip 4,
//! 84x84 grey, max-pool, stack of 4), a random action for every step. `benches/peers/frames.py` runs it beside ale-py.

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ale::{Action, Ale, AleSettings, AtariOptions, PoweredGame, game, roms};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rl_env::{Actions, ResetSeeds, VectorEnv};
use vector::{AtariVectorEnv, PoolOptions};

/// Frames before a measurement begins.
const WARM_UP_FRAMES: usize = 12_000;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [id, num_envs, num_threads, seconds] = arguments.as_slice() else {
        return Err("usage: throughput GAME NUM_ENVS NUM_THREADS SECONDS".into());
    };
    let (num_envs, num_threads) = (num_envs.parse()?, num_threads.parse()?);
    let limit = Duration::from_secs_f64(seconds.parse()?);
    let rom = roms::for_tests(id).ok_or("the ROM is not at hand")?;
    let emulator = emulator(id, Arc::clone(&rom), limit)?;
    let vector = vector(id, rom, num_envs, num_threads, limit)?;
    println!(
        "{{\"game\":\"{id}\",\"num_envs\":{num_envs},\"num_threads\":{num_threads},\"emulator\":{emulator:.1},\"vector\":{vector:.1}}}"
    );
    Ok(())
}

/// Frames per second of the act loop.
fn emulator(id: &str, rom: Arc<[u8]>, limit: Duration) -> Result<f64, Box<dyn Error>> {
    let powered = PoweredGame::new(game(id)?, rom)?;
    let settings = AleSettings { repeat_action_probability: 0.0, ..AleSettings::default() };
    let mut ale = Ale::new(&powered, settings, 1)?;
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let actions = powered.game().minimal_actions;
    let mut play = |frames: usize| -> Result<(), Box<dyn Error>> {
        for _ in 0..frames {
            let code = actions[random.random_range(0..actions.len())];
            ale.act(Action::new(code).ok_or("a minimal action")?, 1.0);
            if ale.game_over() {
                ale.reset_game();
            }
        }
        Ok(())
    };
    play(WARM_UP_FRAMES)?;
    let (start, mut frames) = (Instant::now(), 0.0);
    while start.elapsed() < limit {
        play(100)?;
        frames += 100.0;
    }
    Ok(frames / start.elapsed().as_secs_f64())
}

/// Emulated frames per second of a vector environment.
fn vector(
    id: &str,
    rom: Arc<[u8]>,
    num_envs: usize,
    num_threads: usize,
    limit: Duration,
) -> Result<f64, Box<dyn Error>> {
    let options = AtariOptions::default();
    let pool = PoolOptions { num_threads, ..PoolOptions::default() };
    let mut env = AtariVectorEnv::of_games([(game(id)?, rom)], num_envs, &options, pool)?;
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let count = game(id)?.minimal_actions.len() as i32;
    env.reset(ResetSeeds::From(1))?;
    let mut actions = vec![0; num_envs];
    let mut step = || -> Result<(), Box<dyn Error>> {
        actions.fill_with(|| random.random_range(0..count));
        env.step(Actions::Discrete(&actions))?;
        Ok(())
    };
    for _ in 0..(WARM_UP_FRAMES / 4).div_ceil(num_envs) {
        step()?;
    }
    let (start, mut steps) = (Instant::now(), 0.0);
    while start.elapsed() < limit {
        step()?;
        steps += num_envs as f64;
    }
    Ok(steps * f64::from(options.frameskip) / start.elapsed().as_secs_f64())
}
