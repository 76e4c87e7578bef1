//! Learners read `Discrete`, `Tuple` and `Dict` observations through `FlattenObservation`.

use algorithms::networks::PolicyConfig;
use algorithms::ppo::{Ppo, PpoConfig};
use algorithms::{Learner, VectorSpec};
use burn::tensor::Device;
use rl_env::{
    Action, AutoresetMode, Dtype, Env, EnvError, FlattenObservation, Pcg64, ResetSeeds, Space, Step,
    VectorEnv, snapshot,
};

use super::{mean_return, vectorize};

/// The number of answers.
const ANSWERS: u32 = 6;

/// A one-step task: the right action is twice a number from 0 to 2, plus 1 if a float is positive. If the observation
/// has no float, its number is the right action.
#[derive(Clone)]
struct Riddle {
    observation_space: Space,
    action_space: Space,
    generator: Pcg64,
    answer: u32,
}

impl Riddle {
    fn new(observation_space: Space) -> Self {
        let action_space = Space::discrete(ANSWERS as usize);
        Self { observation_space, action_space, generator: Pcg64::new(0), answer: 0 }
    }
}

impl Env for Riddle {
    type Info = ();

    fn observation_space(&self) -> &Space {
        &self.observation_space
    }

    fn action_space(&self) -> &Space {
        &self.action_space
    }

    fn reset(&mut self, seed: Option<u64>, observation: &mut [u8]) {
        if let Some(seed) = seed {
            self.generator = Pcg64::new(seed);
        }
        self.answer = self.generator.below(ANSWERS);
        self.observe(observation);
    }

    fn step(&mut self, action: Action<'_>, observation: &mut [u8]) -> Result<Step, EnvError> {
        let is_right = action.to_index(&self.action_space)? as u32 == self.answer;
        self.observe(observation);
        Ok(Step { terminated: true, ..Step::reward(f32::from(is_right)) })
    }

    fn info(&self) {}

    fn observe(&self, observation: &mut [u8]) {
        let leaves = self.observation_space.leaves();
        let discrete = if leaves.len() > 1 { self.answer / 2 } else { self.answer };
        for leaf in leaves {
            let row = &mut observation[leaf.offset..leaf.offset + leaf.byte_len()];
            if leaf.dtype == Dtype::F32 {
                row.copy_from_slice(&(f32::from(self.answer % 2 == 1) - 0.5).to_ne_bytes());
            } else {
                row.copy_from_slice(&i64::from(discrete).to_ne_bytes());
            }
        }
    }

    fn snapshot(&self) -> Vec<u8> {
        snapshot::encode(&(&self.generator, self.answer))
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<(), EnvError> {
        (self.generator, self.answer) = snapshot::decode(snapshot)?;
        Ok(())
    }
}

/// Fails unless PPO finds the right answer to every observation of this space.
fn solve(space: &Space) {
    let riddle = || FlattenObservation::new(Riddle::new(space.clone()));
    let mut envs = vectorize(8, riddle, AutoresetMode::SameStep);
    let spec = VectorSpec::of(&envs).unwrap();
    let config = PpoConfig {
        total_steps: 8_192,
        num_steps: 32,
        learning_rate: 3e-3,
        clip_coef: 0.2,
        ..PpoConfig::default()
    };
    let mut ppo = Ppo::new(config, PolicyConfig::default(), spec, &Device::flex(), 1).unwrap();
    let mut batch = envs.reset(ResetSeeds::From(1)).unwrap();
    while !ppo.is_complete() {
        let actions = ppo.act(batch).unwrap();
        batch = envs.step(actions).unwrap();
        ppo.observe(batch).unwrap();
        if ppo.is_ready() {
            ppo.update().unwrap();
        }
    }
    let mut envs = vectorize(100, riddle, AutoresetMode::SameStep);
    let policy = ppo.policy(&VectorSpec::of(&envs).unwrap()).unwrap();
    assert_eq!(mean_return(&mut envs, |batch| policy.greedy(batch).unwrap()), 1.0, "{space}");
}

#[test]
fn ppo_learns_from_one_hot_observations() {
    solve(&Space::discrete(ANSWERS as usize));
}

#[test]
fn ppo_learns_from_tuple_observations() {
    solve(&Space::tuple([Space::discrete(3), Space::floats(1, -1.0, 1.0)]));
}

#[test]
fn ppo_learns_from_dict_observations() {
    solve(&Space::dict([("sign", Space::floats(1, -1.0, 1.0)), ("number", Space::discrete(3))]));
}
