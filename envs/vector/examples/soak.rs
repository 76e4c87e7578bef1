//! Runs many environments of many games for a long time and periodically prints a line of JSON with the memory in use.
//!
//! `cargo run --release -p vector --example soak -- NUM_GAMES NUM_ENVS BATCH_SIZE SECONDS`
//!
//! Plays the first `NUM_GAMES` games with random actions in `NUM_ENVS` environments in total. `rss_mib` is the
//! resident memory; it should not grow after the second line.

use std::error::Error;
use std::fs;
use std::time::{Duration, Instant};

use ale::{AtariOptions, games, roms};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rl_env::{Actions, AutoresetMode, ResetSeeds, Space, VectorEnv};
use vector::{AtariVectorEnv, PoolOptions};

/// The number of lines of output.
const REPORTS: u32 = 20;

fn main() -> Result<(), Box<dyn Error>> {
    let numbers: Vec<usize> = std::env::args().skip(1).map(|text| text.parse()).collect::<Result<_, _>>()?;
    let [num_games, num_envs, batch_size, seconds] = numbers[..] else {
        return Err("usage: soak NUM_GAMES NUM_ENVS BATCH_SIZE SECONDS".into());
    };
    let chosen = games().iter().take(num_games).map(|game| Some((game, roms::for_tests(game.id)?)));
    let chosen: Vec<_> = chosen.collect::<Option<_>>().ok_or("a ROM is missing")?;
    let options = AtariOptions { repeat_action_probability: 0.25, ..AtariOptions::default() };
    let pool = PoolOptions { batch_size, autoreset_mode: AutoresetMode::SameStep, ..PoolOptions::default() };
    let mut env = AtariVectorEnv::of_games(chosen, num_envs / num_games, &options, pool)?;
    soak(&mut env, &options, Duration::from_secs(seconds as u64))
}

fn soak(env: &mut AtariVectorEnv, options: &AtariOptions, limit: Duration) -> Result<(), Box<dyn Error>> {
    let counts: Vec<i32> = env.action_spaces().iter().map(count).collect();
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let mut actions = vec![0; env.batch_size()];
    let (mut steps, mut episodes, mut report) = (0, 0, 0);
    env.reset(ResetSeeds::From(1))?;
    let begin = Instant::now();
    while begin.elapsed() < limit {
        for (action, &id) in actions.iter_mut().zip(&env.batch().env_ids) {
            *action = random.random_range(0..counts[id]);
        }
        let batch = env.step(Actions::Discrete(&actions))?;
        steps += batch.len() as u64;
        episodes += batch.episodes.iter().flatten().count();
        if begin.elapsed() >= limit * report / REPORTS {
            report += 1;
            let seconds = begin.elapsed().as_secs_f64();
            let frames_per_second = steps as f64 * f64::from(options.frameskip) / seconds;
            println!(
                "{{\"seconds\":{seconds:.1},\"rss_mib\":{:.1},\"steps\":{steps},\"episodes\":{episodes},\"frames_per_second\":{frames_per_second:.0}}}",
                resident_mib()?
            );
        }
    }
    println!(
        "{{\"seconds\":{:.1},\"rss_mib\":{:.1},\"steps\":{steps}}}",
        begin.elapsed().as_secs_f64(),
        resident_mib()?
    );
    Ok(())
}

fn count(space: &Space) -> i32 {
    if let Space::Discrete { n, .. } = space { *n as i32 } else { 1 }
}

/// Returns the resident memory in MiB, as reported by Linux.
fn resident_mib() -> Result<f64, Box<dyn Error>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
    let kib: f64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kib / 1024.0)
}
