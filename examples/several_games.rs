//! Steps several games in one vector environment, each with its own number of actions.
//!
//! ```sh
//! cargo run --release --example several_games
//! cargo run --release --example several_games -- harvest pong breakout
//! ```
//!
//! ROMs are looked up in the ROM directory (`ale-train roms` manages it); the default, the open game, is built in.

use ale::roms::RomStore;
use ale::{AtariOptions, game};
use anyhow::Result;
use rl_env::{Actions, Pcg64, ResetSeeds, Space, VectorEnv};
use vector::{AtariVectorEnv, PoolOptions};

const ENVS_PER_GAME: usize = 4;
const NUM_STEPS: usize = 1000;

fn main() -> Result<()> {
    let mut ids: Vec<String> = std::env::args().skip(1).collect();
    if ids.is_empty() {
        ids.push("harvest".to_owned());
    }
    let store = RomStore::locate(None)?;
    let games = ids.iter().map(|id| Ok((game(id)?, store.obtain(id, None)?))).collect::<Result<Vec<_>>>()?;
    let (options, pool) = (AtariOptions::default(), PoolOptions::default());
    let mut envs = AtariVectorEnv::of_games(games, ENVS_PER_GAME, &options, pool)?;

    let num_actions: Vec<u32> = envs.action_spaces().iter().map(num_actions).collect();
    let task_ids = envs.task_ids().to_vec();
    let mut rewards = vec![0.0; ids.len()];
    let mut generator = Pcg64::new(1);
    envs.reset(ResetSeeds::From(1))?;
    for _ in 0..NUM_STEPS {
        // Each environment takes the actions of its game: rows and environments correspond, as a batch holds all of
        // them.
        let actions: Vec<i32> = num_actions.iter().map(|&count| generator.below(count) as i32).collect();
        let batch = envs.step(Actions::Discrete(&actions))?;
        for (&env, reward) in batch.env_ids.iter().zip(&batch.raw_rewards) {
            rewards[task_ids[env]] += f64::from(*reward);
        }
    }
    for (index, (name, reward)) in envs.tasks().iter().zip(rewards).enumerate() {
        let count = num_actions[index * ENVS_PER_GAME];
        println!("{name}: {count} actions, {:.4} points a step", reward / (NUM_STEPS * ENVS_PER_GAME) as f64);
    }
    Ok(())
}

fn num_actions(space: &Space) -> u32 {
    match space {
        Space::Discrete { n, .. } => *n as u32,
        _ => unreachable!("the actions of a joystick are discrete"),
    }
}
