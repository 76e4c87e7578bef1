//! An environment in Rust, trained with PPO: `cargo run --release --example own_environment`.
//!
//! The book's tutorial "Your own environment" explains this file.

use algorithms::networks::PolicyConfig;
use algorithms::ppo::{Ppo, PpoConfig};
use algorithms::{Learner, VectorSpec};
use burn::tensor::Device;
use rl_env::{
    Action, Env, EnvError, Pcg64, ResetSeeds, Space, Step, TimeLimit, VectorEnv, check_env, snapshot,
};
use serde::{Deserialize, Serialize};
use vector::{PoolOptions, PoolVectorEnv};

// ANCHOR: state
/// A corridor of cells. An episode starts in a random cell and ends at either end.
/// The right end is worth 1, the left end nothing.
struct Corridor {
    observation_space: Space,
    action_space: Space,
    state: State,
}

/// Everything that changes, so that a snapshot is complete.
#[derive(Serialize, Deserialize)]
struct State {
    random: Pcg64,
    cell: i32,
}

/// The cells from -LAST to LAST.
const LAST: i32 = 5;

impl Corridor {
    fn new() -> Self {
        Self {
            observation_space: Space::floats(1, -1.0, 1.0),
            action_space: Space::discrete(2),
            state: State { random: Pcg64::new(0), cell: 0 },
        }
    }
}
// ANCHOR_END: state

// ANCHOR: env
impl Env for Corridor {
    type Info = ();

    fn observation_space(&self) -> &Space {
        &self.observation_space
    }

    fn action_space(&self) -> &Space {
        &self.action_space
    }

    fn reset(&mut self, seed: Option<u64>, observation: &mut [u8]) {
        if let Some(seed) = seed {
            self.state.random = Pcg64::new(seed);
        }
        // From one cell after the left end to one cell before the right end.
        self.state.cell = self.state.random.below(2 * LAST as u32 - 1) as i32 + 1 - LAST;
        self.observe(observation);
    }

    fn step(&mut self, action: Action<'_>, observation: &mut [u8]) -> Result<Step, EnvError> {
        let right = action.to_index(&self.action_space)? == 1;
        self.state.cell = (self.state.cell + if right { 1 } else { -1 }).clamp(-LAST, LAST);
        self.observe(observation);
        let reward = if self.state.cell == LAST { 1.0 } else { 0.0 };
        Ok(Step { terminated: self.state.cell.abs() == LAST, ..Step::reward(reward) })
    }

    fn info(&self) {}

    fn observe(&self, observation: &mut [u8]) {
        let position = self.state.cell as f32 / LAST as f32;
        observation.copy_from_slice(&position.to_ne_bytes());
    }

    fn snapshot(&self) -> Vec<u8> {
        snapshot::encode(&self.state)
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<(), EnvError> {
        self.state = snapshot::decode(snapshot)?;
        Ok(())
    }
}
// ANCHOR_END: env

// ANCHOR: vector
/// Eight corridors on a thread pool. Episodes are truncated after 100 steps.
fn corridors() -> Result<PoolVectorEnv<TimeLimit<Corridor>>, Box<dyn std::error::Error>> {
    let corridor = || ("corridor".to_owned(), TimeLimit::new(Corridor::new(), 100));
    let envs = std::iter::repeat_with(corridor).take(8).collect();
    Ok(PoolVectorEnv::new(envs, PoolOptions::default())?)
}
// ANCHOR_END: vector

// ANCHOR: train
/// Trains PPO and returns the mean return of the last 100 episodes.
fn train() -> Result<f64, Box<dyn std::error::Error>> {
    let mut envs = corridors()?;
    let config =
        PpoConfig { total_steps: 16_384, num_steps: 32, learning_rate: 3e-3, ..PpoConfig::default() };
    let (policy, spec) = (PolicyConfig::default(), VectorSpec::of(&envs)?);
    let mut ppo = Ppo::new(config, policy, spec, &Device::flex(), 1)?;

    let mut returns = Vec::new();
    let mut batch = envs.reset(ResetSeeds::From(1))?;
    while !ppo.is_complete() {
        let actions = ppo.act(batch)?;
        batch = envs.step(actions)?;
        ppo.observe(batch)?;
        returns.extend(batch.episodes.iter().flatten().map(|episode| episode.total_reward));
        if ppo.is_ready() {
            ppo.update()?;
        }
    }
    let last = &returns[returns.len().saturating_sub(100)..];
    Ok(last.iter().sum::<f64>() / last.len() as f64)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    check_env(&mut Corridor::new())?;
    println!("mean return of the last 100 episodes: {}", train()?);
    Ok(())
}
// ANCHOR_END: train

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ppo_learns_to_walk_right() {
        let mean = train().expect("training succeeds");
        assert!(mean > 0.95, "the mean return is {mean}, but 1 is possible from every cell");
    }
}
