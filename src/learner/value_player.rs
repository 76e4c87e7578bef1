use algorithms::LearnerError;
use algorithms::dqn::Policy;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rl_env::{ActionBuffer, Batch};

use super::player::{Player, Reading};

/// Acts epsilon-greedily on action values.
pub(super) struct ValuePlayer {
    policy: Policy,
    epsilon: f64,
    rng: ChaCha8Rng,
}

impl ValuePlayer {
    pub(super) fn new(policy: Policy, epsilon: f64, seed: u64) -> Self {
        Self { policy, epsilon, rng: ChaCha8Rng::seed_from_u64(seed) }
    }
}

impl Player for ValuePlayer {
    fn act(&mut self, batch: &Batch) -> Result<ActionBuffer, LearnerError> {
        self.policy.epsilon_greedy(batch, self.epsilon, &mut self.rng).map(ActionBuffer::Discrete)
    }

    fn reseed(&mut self, seed: u64) {
        self.rng = ChaCha8Rng::seed_from_u64(seed);
    }

    fn readings(&self, batch: &Batch) -> Result<Vec<Reading>, LearnerError> {
        Ok(self.policy.values(batch)?.into_iter().map(Reading::Values).collect())
    }
}
