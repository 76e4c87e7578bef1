//! A random agent plays the open game in eight environments and prints the return of each episode.
//!
//! ```sh
//! cargo run --release --example random_agent
//! ```

use ale::{AtariOptions, game, roms};
use anyhow::{Context, Result};
use rl_env::{Actions, AutoresetMode, Pcg64, ResetSeeds, Space, VectorEnv};
use vector::{AtariVectorEnv, PoolOptions};

const NUM_ENVS: usize = 8;
const NUM_EPISODES: usize = 10;

fn main() -> Result<()> {
    let rom = roms::built_in("harvest").context("the open game is built in")?;
    let options = AtariOptions { repeat_action_probability: 0.25, ..AtariOptions::default() };
    let pool = PoolOptions { autoreset_mode: AutoresetMode::SameStep, ..PoolOptions::default() };
    let mut envs = AtariVectorEnv::of_games([(game("harvest")?, rom.into())], NUM_ENVS, &options, pool)?;
    let Space::Discrete { n: num_actions, .. } = envs.action_spaces()[0] else { unreachable!() };

    let mut generator = Pcg64::new(1);
    let mut num_episodes = 0;
    envs.reset(ResetSeeds::From(1))?;
    while num_episodes < NUM_EPISODES {
        let actions: Vec<i32> = (0..NUM_ENVS).map(|_| generator.below(num_actions as u32) as i32).collect();
        let batch = envs.step(Actions::Discrete(&actions))?;
        for (env, episode) in batch.env_ids.iter().zip(&batch.episodes) {
            if let Some(episode) = episode {
                println!("environment {env}: return {}, {} steps", episode.total_reward, episode.length);
                num_episodes += 1;
            }
        }
    }
    Ok(())
}
