//! PPO in a corridor whose only reward is at its end.

use algorithms::VectorSpec;
use algorithms::ppo::{PpoConfig, RndConfig};
use rl_env::{Action, AutoresetMode, Env, EnvError, Space, Step, TimeLimit, snapshot};

use super::ppo::train;
use super::{mean_return, vectorize};

/// The number of steps from the start to the end.
const LENGTH: usize = 40;

/// A corridor in which one of two actions moves the agent a step towards the end and the other one a step back. Which
/// one it is differs from place to place. The observation is the place as a one-hot vector.
struct Corridor {
    observation_space: Space,
    action_space: Space,
    place: usize,
}

impl Corridor {
    fn new() -> Self {
        Self {
            observation_space: Space::floats(LENGTH + 1, 0.0, 1.0),
            action_space: Space::discrete(2),
            place: 0,
        }
    }
}

impl Env for Corridor {
    type Info = ();

    fn observation_space(&self) -> &Space {
        &self.observation_space
    }

    fn action_space(&self) -> &Space {
        &self.action_space
    }

    fn reset(&mut self, _: Option<u64>, observation: &mut [u8]) {
        self.place = 0;
        self.observe(observation);
    }

    fn step(&mut self, action: Action<'_>, observation: &mut [u8]) -> Result<Step, EnvError> {
        let forwards = self.place * self.place / 3 % 2;
        let moves_on = action.to_index(&self.action_space)? as usize == forwards;
        self.place = if moves_on { LENGTH.min(self.place + 1) } else { self.place.saturating_sub(1) };
        self.observe(observation);
        let is_end = self.place == LENGTH;
        Ok(Step { terminated: is_end, ..Step::reward(f32::from(is_end)) })
    }

    fn info(&self) {}

    fn observe(&self, observation: &mut [u8]) {
        for (place, number) in observation.as_chunks_mut().0.iter_mut().enumerate() {
            *number = f32::from(place == self.place).to_ne_bytes();
        }
    }

    fn snapshot(&self) -> Vec<u8> {
        snapshot::encode(&self.place)
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<(), EnvError> {
        self.place = snapshot::decode(snapshot)?;
        Ok(())
    }
}

/// Returns the mean return of the most probable actions after training. Episodes are truncated after 100 steps.
fn return_with(rnd: RndConfig) -> f64 {
    let corridor = || TimeLimit::new(Corridor::new(), 100);
    let config = PpoConfig {
        total_steps: 100_000,
        num_steps: 64,
        learning_rate: 1e-3,
        anneal_lr: false,
        gamma: 0.99,
        rnd,
        ..PpoConfig::default()
    };
    let mut envs = vectorize(16, corridor, AutoresetMode::NextStep);
    let ppo = train(&mut envs, config, 1);
    let mut envs = vectorize(10, corridor, AutoresetMode::NextStep);
    let policy = ppo.policy(&VectorSpec::of(&envs).unwrap()).unwrap();
    mean_return(&mut envs, |batch| policy.greedy(batch).unwrap())
}

#[test]
fn ppo_finds_the_end_of_a_corridor_with_intrinsic_rewards_and_only_with_them() {
    let rnd = RndConfig { num_iterations_obs_norm_init: 2, features: 64, ..RndConfig::default() };
    let without = return_with(rnd.clone());
    let with = return_with(RndConfig { enabled: true, ..rnd });
    println!("{with} with intrinsic rewards, {without} without");
    assert_eq!((with, without), (1.0, 0.0));
}
