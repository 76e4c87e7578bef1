use crate::ConfigError;

/// The settings that determine the course of training, for all learners with a replay buffer.
#[derive(Clone, Copy, Debug)]
pub struct ReplayPlan {
    pub(crate) total_steps: u64,
    pub(crate) buffer_size: usize,
    pub(crate) batch_size: usize,
    pub(crate) learning_starts: usize,
    pub(crate) train_ratio: f64,
    /// The number of gradient steps between two updates of the target network.
    pub(crate) target_network_frequency: u64,
}

impl ReplayPlan {
    /// Checks the settings that depend on the capacity of the replay buffer.
    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        ConfigError::unless(
            self.buffer_size >= self.batch_size,
            "buffer_size",
            &self.buffer_size,
            format!("{} (batch_size) or more", self.batch_size),
        )?;
        ConfigError::unless(
            self.learning_starts <= self.buffer_size,
            "learning_starts",
            &self.learning_starts,
            format!("at most {} (buffer_size)", self.buffer_size),
        )
    }

    /// Fails if `total_steps` differs from that of the plan `before` and is less than the number of steps made.
    pub(crate) fn check_total(&self, before: &Self, made: u64) -> Result<(), ConfigError> {
        // The last batch of steps may exceed the total that training began with.
        let is_possible = self.total_steps >= made || self.total_steps == before.total_steps;
        let allowed = format!("at least {made}, the number of steps already made");
        ConfigError::unless(is_possible, "total_steps", &self.total_steps, allowed)
    }
}
