use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// The random streams of a learner's seed. They are independent: drawing from one never affects another.
pub(crate) enum Stream {
    /// Initial weights.
    Initialization,
    /// Exploration and sampling of actions.
    Actions,
    /// Selection of minibatches: the shuffling of a rollout, or the draws from a replay buffer.
    Minibatches,
    /// Noise of noisy layers, of augmented images, and of the actions that SAC learns from.
    Noise,
}

impl Stream {
    /// Returns the generator of this stream for `seed`.
    pub(crate) fn rng(self, seed: u64) -> ChaCha8Rng {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(self as u64);
        rng
    }
}
