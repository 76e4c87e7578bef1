//! Implements an environment, checks it with `check_env` and steps copies of it on a pool of two threads.
//!
//! ```sh
//! cargo run --release --example custom_env
//! ```

use anyhow::Result;
use rl_env::{
    Action, Actions, Env, EnvError, Pcg64, ResetSeeds, Space, Step, TimeLimit, VectorEnv, check_env, snapshot,
};
use serde::{Deserialize, Serialize};
use vector::{PoolOptions, PoolVectorEnv};

/// A room to be kept at 20 degrees with a heater that is either off (0) or on (1). The observation is the temperature; each
/// step costs the distance from 20 degrees. Episodes never terminate.
struct Heater {
    observation_space: Space,
    action_space: Space,
    state: State,
}

/// The part that changes, and so the snapshot.
#[derive(Serialize, Deserialize)]
struct State {
    temperature: f32,
    generator: Pcg64,
}

impl Heater {
    fn new() -> Self {
        Self {
            observation_space: Space::floats(1, 0.0, 40.0),
            action_space: Space::discrete(2),
            state: State { temperature: 0.0, generator: Pcg64::new(0) },
        }
    }
}

impl Env for Heater {
    type Info = ();

    fn observation_space(&self) -> &Space {
        &self.observation_space
    }

    fn action_space(&self) -> &Space {
        &self.action_space
    }

    fn reset(&mut self, seed: Option<u64>, observation: &mut [u8]) {
        if let Some(seed) = seed {
            self.state.generator = Pcg64::new(seed);
        }
        self.state.temperature = self.state.generator.uniform(10.0, 30.0) as f32;
        self.observe(observation);
    }

    fn step(&mut self, action: Action<'_>, observation: &mut [u8]) -> Result<Step, EnvError> {
        let heating = if action.to_index(&self.action_space)? == 1 { 1.0 } else { -1.0 };
        let draught = self.state.generator.uniform(-0.5, 0.5) as f32;
        self.state.temperature = (self.state.temperature + heating + draught).clamp(0.0, 40.0);
        self.observe(observation);
        Ok(Step::reward(-(self.state.temperature - 20.0).abs()))
    }

    fn info(&self) {}

    fn observe(&self, observation: &mut [u8]) {
        observation.copy_from_slice(&self.state.temperature.to_ne_bytes());
    }

    fn snapshot(&self) -> Vec<u8> {
        snapshot::encode(&self.state)
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<(), EnvError> {
        self.state = snapshot::decode(snapshot)?;
        Ok(())
    }
}

fn main() -> Result<()> {
    check_env(&mut Heater::new())?;

    let heater = || ("heater".to_owned(), TimeLimit::new(Heater::new(), 50));
    let options = PoolOptions { num_threads: 2, ..PoolOptions::default() };
    let mut envs = PoolVectorEnv::new(std::iter::repeat_with(heater).take(4).collect(), options)?;
    envs.reset(ResetSeeds::From(1))?;
    for _ in 0..50 {
        // A thermostat: heats below 20 degrees.
        let temperatures = (0..4).map(|row| envs.batch().observations.row_f32(row)[0]);
        let actions: Vec<i32> = temperatures.map(|temperature| i32::from(temperature < 20.0)).collect();
        envs.step(Actions::Discrete(&actions))?;
    }
    for (env, episode) in envs.batch().episodes.iter().enumerate() {
        let episode = episode.as_ref().expect("the time limit ends every episode after 50 steps");
        println!("environment {env}: return {:.1}", episode.total_reward);
    }
    Ok(())
}
