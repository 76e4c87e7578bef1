use crate::ConfigError;
use crate::engine::schedule::LinearSchedule;
use crate::engine::training::OptimizerStepOptions;

/// The settings that determine the course of training, for all on-policy learners.
#[derive(Clone, Copy, Debug)]
pub struct RolloutPlan {
    /// The number of steps to train for, over all environments.
    pub total_steps: u64,
    /// The number of steps of each environment in a rollout.
    pub num_steps: usize,
    /// Step size of the optimiser at the start of training.
    pub learning_rate: f64,
    /// True if the learning rate decays linearly to 0.
    pub anneal_lr: bool,
    /// The number of minibatches of a rollout.
    pub num_minibatches: usize,
    /// The number of epochs over each rollout.
    pub update_epochs: usize,
    /// The norm to which the gradient of all parameters is clipped.
    pub max_grad_norm: f32,
}

impl RolloutPlan {
    /// Checks the settings that depend on the number of environments.
    pub(crate) fn validate(&self, num_envs: usize) -> Result<(), ConfigError> {
        let batch_size = num_envs.saturating_mul(self.num_steps);
        ConfigError::unless(
            self.total_steps >= batch_size as u64,
            "total_steps",
            &self.total_steps,
            format!("{batch_size} (num_envs * num_steps) or more"),
        )?;
        ConfigError::unless(
            self.num_minibatches <= batch_size,
            "num_minibatches",
            &self.num_minibatches,
            format!("in 1..={batch_size} (num_envs * num_steps)"),
        )
    }

    /// Returns the number of updates in `total_steps` steps.
    pub(crate) fn num_updates(&self, num_envs: usize) -> u64 {
        self.total_steps / (num_envs * self.num_steps) as u64
    }

    /// Returns the options of the optimiser's steps in the update after `updates` of `num_updates` updates.
    pub(crate) fn step_options(&self, updates: u64, num_updates: u64) -> OptimizerStepOptions {
        let start = self.learning_rate;
        let end = if self.anneal_lr { 0.0 } else { start };
        let learning_rate = LinearSchedule { start, end, steps: num_updates }.value(updates);
        OptimizerStepOptions { learning_rate, max_grad_norm: Some(self.max_grad_norm) }
    }
}
