use serde::{Deserialize, Serialize};
use settings::{Settings, above, at_least, between, settings};

use crate::ConfigError;
use crate::engine::rollout_plan::RolloutPlan;

settings! {
    /// Hyperparameters of PQN, the parallelised Q-network (Gallici et al. 2024, <https://arxiv.org/abs/2407.04811>),
    /// named as in the literature. The defaults are those of `pqn_atari_envpool.py` in CleanRL.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    pub struct PqnConfig {
        /// The number of steps to train for, over all environments: at least one rollout.
        pub total_steps: u64 = 10_000_000,
        /// The number of steps of each environment in a rollout. With fewer than 2, all of them could be resets.
        pub num_steps: usize = 128 => between(2.0, 1e6); fixed "updates so far were counted in rollouts of this length",
        /// Step size of the optimiser at the start of training.
        pub learning_rate: f64 = 2.5e-4 => above(0.0),
        /// True if the learning rate decays linearly to 0 over the course of training.
        pub anneal_lr: bool = true,
        /// Discount factor per step.
        pub gamma: f32 = 0.99 => between(0.0, 1.0),
        /// The lambda of the returns: 0 for one-step returns, 1 for Monte Carlo returns.
        pub q_lambda: f32 = 0.65 => between(0.0, 1.0),
        /// Probability of a random action at the start of training.
        pub start_e: f32 = 1.0 => between(0.0, 1.0),
        /// Probability of a random action at the end of its decay.
        pub end_e: f32 = 0.01 => between(0.0, 1.0),
        /// The fraction of training over which the probability of a random action decays linearly.
        pub exploration_fraction: f32 = 0.1 => between(0.0, 1.0),
        /// Probability of a random action in evaluations.
        pub eval_epsilon: f32 = 0.0 => between(0.0, 1.0),
        /// The number of minibatches of a rollout, at most `num_envs * num_steps`. The optimiser takes one step for
        /// each.
        pub num_minibatches: usize = 4 => at_least(1.0),
        /// The number of epochs over each rollout.
        pub update_epochs: usize = 4 => at_least(1.0),
        /// The norm to which the gradient of all parameters is clipped.
        pub max_grad_norm: f32 = 10.0 => above(0.0),
    }
}

impl PqnConfig {
    /// Checks every field, given the number of environments.
    pub fn validate(&self, num_envs: usize) -> Result<(), ConfigError> {
        self.check()?;
        self.plan().validate(num_envs)
    }

    /// Returns the settings that all on-policy learners share.
    pub(super) fn plan(&self) -> RolloutPlan {
        RolloutPlan {
            total_steps: self.total_steps,
            num_steps: self.num_steps,
            learning_rate: self.learning_rate,
            anneal_lr: self.anneal_lr,
            num_minibatches: self.num_minibatches,
            update_epochs: self.update_epochs,
            max_grad_norm: self.max_grad_norm,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_valid() {
        assert_eq!(PqnConfig::default().validate(8), Ok(()));
    }

    #[test]
    fn errors_name_the_invalid_field() {
        type Change = fn(&mut PqnConfig);
        let cases: [(&str, Change); 12] = [
            ("num_steps", |config| config.num_steps = 1),
            ("total_steps", |config| config.total_steps = 1023),
            ("learning_rate", |config| config.learning_rate = f64::NAN),
            ("gamma", |config| config.gamma = 1.5),
            ("q_lambda", |config| config.q_lambda = -0.1),
            ("start_e", |config| config.start_e = 1.1),
            ("end_e", |config| config.end_e = -1.0),
            ("exploration_fraction", |config| config.exploration_fraction = f32::NAN),
            ("eval_epsilon", |config| config.eval_epsilon = 2.0),
            ("num_minibatches", |config| config.num_minibatches = 1025),
            ("update_epochs", |config| config.update_epochs = 0),
            ("max_grad_norm", |config| config.max_grad_norm = 0.0),
        ];
        for (field, change) in cases {
            let mut config = PqnConfig::default();
            change(&mut config);
            assert_eq!(config.validate(8).unwrap_err().field, field);
        }
    }
}
