use serde::{Deserialize, Serialize};

use crate::ConfigError;
use crate::config_error::check_unit;
use crate::rollout_plan::RolloutPlan;

/// The hyperparameters of PQN. The defaults are those of `CleanRL`'s `pqn_atari_envpool.py`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PqnConfig {
    /// Steps (agent decisions) of all environments together that training is planned for: at least one rollout.
    pub total_steps: u64,
    /// Steps of each environment between two updates: 2 or more, so that not all of them can be resets.
    pub num_steps: usize,
    /// The optimiser's step size at the beginning: more than 0.
    pub learning_rate: f64,
    /// Whether the learning rate falls on a straight line to 0 in the course of training.
    pub anneal_lr: bool,
    /// The discount of rewards from step to step: 0 to 1.
    pub gamma: f32,
    /// How far returns look ahead: from 0 (one step) to 1 (the whole rollout).
    pub q_lambda: f32,
    /// The probability of a random action at the beginning: 0 to 1.
    pub start_e: f32,
    /// The probability of a random action at the end: 0 to 1.
    pub end_e: f32,
    /// The part of training in which the probability falls on a straight line: 0 to 1.
    pub exploration_fraction: f32,
    /// The probability of a random action when the agent plays without learning: 0 to 1.
    pub eval_epsilon: f32,
    /// Parts that a rollout is split into, each one step of the optimiser: 1 or more, at most the rollout's steps.
    pub num_minibatches: usize,
    /// How often each rollout is learned from: 1 or more.
    pub update_epochs: usize,
    /// The length to which the gradient of all parameters together is clipped: more than 0.
    pub max_grad_norm: f32,
}

impl Default for PqnConfig {
    fn default() -> Self {
        Self {
            total_steps: 10_000_000,
            num_steps: 128,
            learning_rate: 2.5e-4,
            anneal_lr: true,
            gamma: 0.99,
            q_lambda: 0.65,
            start_e: 1.0,
            end_e: 0.01,
            exploration_fraction: 0.1,
            eval_epsilon: 0.0,
            num_minibatches: 4,
            update_epochs: 4,
            max_grad_norm: 10.0,
        }
    }
}

impl PqnConfig {
    /// Checks every field, with `num_envs` environments in mind.
    pub fn validate(&self, num_envs: usize) -> Result<(), ConfigError> {
        self.plan().validate(num_envs)?;
        check_unit("q_lambda", self.q_lambda)?;
        check_unit("start_e", self.start_e)?;
        check_unit("end_e", self.end_e)?;
        check_unit("exploration_fraction", self.exploration_fraction)?;
        check_unit("eval_epsilon", self.eval_epsilon)
    }

    /// What every learner from rollouts has.
    pub(super) fn plan(&self) -> RolloutPlan {
        RolloutPlan {
            total_steps: self.total_steps,
            num_steps: self.num_steps,
            learning_rate: self.learning_rate,
            anneal_lr: self.anneal_lr,
            gamma: self.gamma,
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
    fn the_defaults_are_possible() {
        assert_eq!(PqnConfig::default().validate(8), Ok(()));
    }

    #[test]
    fn each_impossible_value_is_named() {
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
