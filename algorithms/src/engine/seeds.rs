use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// The random streams of a learner's seed. They are independent: drawing from one never affects another. The number of
/// each is part of checkpoints, so it never changes.
pub(crate) enum Stream {
    /// Initial weights.
    Initialization = 0,
    /// Exploration and sampling of actions.
    Actions = 1,
    /// Selection of minibatches: the shuffling of a rollout, or the draws from a replay buffer.
    Minibatches = 2,
    /// Noise of noisy layers, of augmented images, and of the actions that SAC learns from.
    Noise = 3,
}

impl Stream {
    /// Returns the generator of this stream for `seed`.
    pub(crate) fn rng(self, seed: u64) -> ChaCha8Rng {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(self as u64);
        rng
    }
}
