//! An environment with random episodes and configurable faults.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rl_env::{Action, Env, EnvError, Space, Step};

/// The length of an observation, not a multiple of eight, so that rows are padded.
pub(crate) const OBSERVATION_BYTES: usize = 13;

/// The numbers of steps and resets of a stub.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StubInfo {
    pub(crate) steps: u64,
    pub(crate) resets: u64,
}

/// An environment with episodes of 1 to 12 steps, which terminate, are truncated, or report a termination and continue.
#[derive(Clone, Debug)]
pub(crate) struct Stub {
    observation_space: Space,
    action_space: Space,
    rng: ChaCha8Rng,
    remaining: u32,
    observation: [u8; OBSERVATION_BYTES],
    info: StubInfo,
    /// Called with the number of the step. May fail or panic.
    pub(crate) on_step: fn(u64) -> Result<(), EnvError>,
    /// Called before a state is restored.
    pub(crate) on_restore: fn(),
}

impl Stub {
    /// Creates a stub with `num_actions` actions.
    pub(crate) fn new(num_actions: usize) -> Self {
        Self {
            observation_space: Space::bytes([OBSERVATION_BYTES]),
            action_space: Space::discrete(num_actions),
            rng: ChaCha8Rng::seed_from_u64(0),
            remaining: 0,
            observation: [0; OBSERVATION_BYTES],
            info: StubInfo::default(),
            on_step: |_| Ok(()),
            on_restore: || (),
        }
    }
}

impl Env for Stub {
    type Info = StubInfo;

    fn observation_space(&self) -> &Space {
        &self.observation_space
    }

    fn action_space(&self) -> &Space {
        &self.action_space
    }

    fn reset(&mut self, seed: Option<u64>, observation: &mut [u8]) {
        if let Some(seed) = seed {
            self.rng = ChaCha8Rng::seed_from_u64(seed);
        }
        self.remaining = self.rng.random_range(1..=12);
        self.rng.fill(&mut self.observation);
        self.info.resets += 1;
        self.observe(observation);
    }

    fn step(&mut self, action: Action<'_>, observation: &mut [u8]) -> Result<Step, EnvError> {
        let Action::Discrete(&[choice]) = action else {
            unreachable!("the vector environment checks actions");
        };
        self.info.steps += 1;
        (self.on_step)(self.info.steps)?;
        self.rng.fill(&mut self.observation);
        self.observation[0] ^= choice as u8;
        self.observe(observation);
        self.remaining = self.remaining.saturating_sub(1);
        let raw_reward = f32::from(self.observation[1]);
        let (over, truncated) = (self.remaining == 0, self.observation[2] & 1 == 1);
        let life_lost = !over && self.observation[3] < 32;
        Ok(Step {
            reward: raw_reward.min(1.0),
            raw_reward,
            terminated: over && !truncated || life_lost,
            truncated: over && truncated,
            continues: life_lost,
        })
    }

    fn info(&self) -> StubInfo {
        self.info.clone()
    }

    fn observe(&self, observation: &mut [u8]) {
        observation.copy_from_slice(&self.observation);
    }

    fn snapshot(&self) -> Vec<u8> {
        let counts =
            [self.rng.get_word_pos() as u64, u64::from(self.remaining), self.info.steps, self.info.resets];
        let counts = counts.iter().flat_map(|count| count.to_le_bytes());
        self.rng.get_seed().into_iter().chain(counts).chain(self.observation).collect()
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<(), EnvError> {
        (self.on_restore)();
        let Ok(bytes) = <&[u8; 64 + OBSERVATION_BYTES]>::try_from(snapshot) else {
            return Err(EnvError::BadSnapshot(format!("{} bytes", snapshot.len())));
        };
        let (counts, _) = bytes[32..].as_chunks::<8>();
        let [position, remaining, steps, resets] =
            std::array::from_fn(|index| u64::from_le_bytes(counts[index]));
        self.rng = ChaCha8Rng::from_seed(bytes[..32].try_into().expect("32 bytes"));
        self.rng.set_word_pos(u128::from(position));
        self.remaining = remaining as u32;
        self.info = StubInfo { steps, resets };
        self.observation.copy_from_slice(&bytes[64..]);
        Ok(())
    }
}
