use crate::ConfigError;
use crate::config_error::{check, check_count, check_positive, check_unit};
use crate::schedule::LinearSchedule;
use crate::training::StepSize;

/// The settings that PPO and PQN share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RolloutPlan {
    pub(crate) total_steps: u64,
    pub(crate) num_steps: usize,
    pub(crate) learning_rate: f64,
    pub(crate) anneal_lr: bool,
    pub(crate) gamma: f32,
    pub(crate) num_minibatches: usize,
    pub(crate) update_epochs: usize,
    pub(crate) max_grad_norm: f32,
}

impl RolloutPlan {
    /// Checks every setting for `num_envs` environments.
    pub(crate) fn validate(&self, num_envs: usize) -> Result<(), ConfigError> {
        let batch_size = num_envs.saturating_mul(self.num_steps);
        check("num_steps", &self.num_steps, self.num_steps >= 2, "2 or more")?;
        check(
            "total_steps",
            &self.total_steps,
            self.total_steps >= batch_size as u64,
            format!("{batch_size} (num_envs * num_steps) or more"),
        )?;
        let rate = self.learning_rate;
        check("learning_rate", &rate, rate.is_finite() && rate > 0.0, "a number above 0")?;
        check_unit("gamma", self.gamma)?;
        check(
            "num_minibatches",
            &self.num_minibatches,
            (1..=batch_size).contains(&self.num_minibatches),
            format!("in 1..={batch_size} (num_envs * num_steps)"),
        )?;
        check_count("update_epochs", self.update_epochs)?;
        check_positive("max_grad_norm", self.max_grad_norm)
    }

    /// Returns the number of updates in `total_steps` steps.
    pub(crate) fn num_updates(&self, num_envs: usize) -> u64 {
        self.total_steps / (num_envs * self.num_steps) as u64
    }

    /// Returns the step size of the update after `updates` of `num_updates` updates.
    pub(crate) fn step_size(&self, updates: u64, num_updates: u64) -> StepSize {
        let start = self.learning_rate;
        let end = if self.anneal_lr { 0.0 } else { start };
        let learning_rate = LinearSchedule { start, end, steps: num_updates }.value(updates);
        StepSize { learning_rate, max_grad_norm: Some(self.max_grad_norm) }
    }
}
