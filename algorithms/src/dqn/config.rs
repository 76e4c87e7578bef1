use serde::{Deserialize, Serialize};

use crate::action_values::LossKind;
use crate::config_error::{check, check_count, check_positive, check_unit};
use crate::networks::PolicyConfig;
use crate::{ConfigError, ValueScale};

/// What is learned of the return of an action.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Distribution {
    /// Its mean (Mnih et al. 2015).
    #[default]
    Mean,
    /// Its probabilities on `num_atoms` fixed values from `v_min` to `v_max` (C51, Bellemare et al. 2017,
    /// <https://arxiv.org/abs/1707.06887>).
    C51,
    /// `num_atoms` quantiles (QR-DQN, Dabney et al. 2018, <https://arxiv.org/abs/1710.10044>).
    Quantile,
}

/// The hyperparameters of DQN and what was added to it, by the names of the papers. The defaults are those of `CleanRL`'s
/// `dqn_atari.py`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DqnConfig {
    /// Steps (agent decisions) of all environments together that training lasts: 1 or more.
    pub total_steps: u64,
    /// The optimiser's step size: more than 0.
    pub learning_rate: f64,
    /// What Adam adds to the root of its second moment: more than 0.
    pub adam_epsilon: f32,
    /// Steps that the replay holds, over all environments; every task has the same share. At least `batch_size`.
    pub buffer_size: usize,
    /// The discount of rewards from step to step: 0 to 1.
    pub gamma: f32,
    /// How far the target network moves to the trained one when it moves: above 0 to 1, which is a copy (Polyak).
    pub tau: f32,
    /// Gradient steps between two moves of the target network: 1 or more.
    pub target_network_frequency: u64,
    /// Steps that a gradient step learns from: 1 or more.
    pub batch_size: usize,
    /// The probability of a random action at the beginning: 0 to 1.
    pub start_e: f32,
    /// The probability of a random action at the end: 0 to 1.
    pub end_e: f32,
    /// The part of training in which the probability falls on a straight line: 0 to 1.
    pub exploration_fraction: f32,
    /// The probability of a random action when the agent plays without learning: 0 to 1.
    pub eval_epsilon: f32,
    /// Steps that the replay sees before learning starts: at most `buffer_size`.
    pub learning_starts: usize,
    /// Gradient steps for each step of an environment: more than 0. 0.25 is one for four steps.
    pub train_ratio: f64,
    /// Steps of a return before it is bootstrapped: 1 or more.
    pub n_step: usize,
    /// Whether the trained network chooses the action that the target network values (van Hasselt et al. 2016,
    /// <https://arxiv.org/abs/1509.06461>).
    pub double: bool,
    /// Whether values are the sum of a value of the observation and advantages of the actions.
    pub dueling: bool,
    /// Whether the fully connected layers have learned noise. `start_e` and `end_e` are best 0 then.
    pub noisy: bool,
    /// The scale with which that noise begins: more than 0.
    pub noisy_sigma: f64,
    /// Whether steps are drawn in proportion to how wrong the network was about them, and weighted accordingly.
    pub prioritized: bool,
    /// The exponent of priorities: 0 (all are equal) to 1.
    pub per_alpha: f32,
    /// How much of the bias of priorities is taken back at the beginning: 0 to 1. At the end all is.
    pub per_beta: f32,
    /// What is learned of the return: `mean`, `c51` or `quantile`.
    pub distribution: Distribution,
    /// Numbers of an action where a distribution is learned: 2 or more.
    pub num_atoms: usize,
    /// The least return of `c51`.
    pub v_min: f32,
    /// The greatest return of `c51`: more than `v_min`.
    pub v_max: f32,
    /// The loss of `mean`: `mse` or `huber`.
    pub loss: LossKind,
    /// The length to which the gradient of all parameters together is clipped: more than 0, or absent for no limit.
    pub max_grad_norm: Option<f32>,
}

impl Default for DqnConfig {
    fn default() -> Self {
        Self {
            total_steps: 10_000_000,
            learning_rate: 1e-4,
            adam_epsilon: 1e-8,
            buffer_size: 1_000_000,
            gamma: 0.99,
            tau: 1.0,
            target_network_frequency: 250,
            batch_size: 32,
            start_e: 1.0,
            end_e: 0.01,
            exploration_fraction: 0.1,
            eval_epsilon: 0.05,
            learning_starts: 80_000,
            train_ratio: 0.25,
            n_step: 1,
            double: false,
            dueling: false,
            noisy: false,
            noisy_sigma: 0.5,
            prioritized: false,
            per_alpha: 0.5,
            per_beta: 0.4,
            distribution: Distribution::Mean,
            num_atoms: 51,
            v_min: -10.0,
            v_max: 10.0,
            loss: LossKind::Mse,
            max_grad_norm: None,
        }
    }
}

impl DqnConfig {
    /// Checks every field.
    pub fn validate(&self) -> Result<(), ConfigError> {
        check("total_steps", &self.total_steps, self.total_steps >= 1, "1 or more")?;
        let positive = |number: f64| number.is_finite() && number > 0.0;
        let rate = self.learning_rate;
        check("learning_rate", &rate, positive(rate), "a number above 0")?;
        check_positive("adam_epsilon", self.adam_epsilon)?;
        check_count("batch_size", self.batch_size)?;
        check(
            "buffer_size",
            &self.buffer_size,
            self.buffer_size >= self.batch_size,
            format!("{} (batch_size) or more", self.batch_size),
        )?;
        check_unit("gamma", self.gamma)?;
        check("tau", &self.tau, self.tau > 0.0 && self.tau <= 1.0, "above 0 and at most 1")?;
        let frequency = self.target_network_frequency;
        check("target_network_frequency", &frequency, frequency >= 1, "1 or more")?;
        check_unit("start_e", self.start_e)?;
        check_unit("end_e", self.end_e)?;
        check_unit("exploration_fraction", self.exploration_fraction)?;
        check_unit("eval_epsilon", self.eval_epsilon)?;
        check(
            "learning_starts",
            &self.learning_starts,
            self.learning_starts <= self.buffer_size,
            format!("at most {} (buffer_size)", self.buffer_size),
        )?;
        check("train_ratio", &self.train_ratio, positive(self.train_ratio), "a number above 0")?;
        check_count("n_step", self.n_step)?;
        check("noisy_sigma", &self.noisy_sigma, positive(self.noisy_sigma), "a number above 0")?;
        check_unit("per_alpha", self.per_alpha)?;
        check_unit("per_beta", self.per_beta)?;
        check("num_atoms", &self.num_atoms, self.num_atoms >= 2, "2 or more")?;
        check("v_min", &self.v_min, self.v_min.is_finite(), "a number")?;
        check(
            "v_max",
            &self.v_max,
            self.v_max.is_finite() && self.v_max > self.v_min,
            format!("a number above {} (v_min)", self.v_min),
        )?;
        match self.max_grad_norm {
            Some(norm) => {
                let possible = norm.is_finite() && norm > 0.0;
                check("max_grad_norm", &norm, possible, "a number above 0, or absent")
            }
            None => Ok(()),
        }
    }

    /// Checks that a network of `policy` can learn so.
    pub fn validate_policy(&self, policy: &PolicyConfig) -> Result<(), ConfigError> {
        policy.validate_action_values()?;
        let possible = policy.value_scale != ValueScale::PopArt || self.distribution != Distribution::C51;
        let allowed = "none, h or symlog where dqn.distribution = \"c51\": its returns are fixed";
        check("value_scale", &"popart", possible, allowed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_possible() {
        assert_eq!(DqnConfig::default().validate(), Ok(()));
    }

    #[test]
    fn each_impossible_value_is_named() {
        type Change = fn(&mut DqnConfig);
        let cases: [(&str, Change); 23] = [
            ("total_steps", |config| config.total_steps = 0),
            ("learning_rate", |config| config.learning_rate = f64::NAN),
            ("adam_epsilon", |config| config.adam_epsilon = 0.0),
            ("buffer_size", |config| config.buffer_size = 31),
            ("gamma", |config| config.gamma = 1.5),
            ("tau", |config| config.tau = 0.0),
            ("target_network_frequency", |config| config.target_network_frequency = 0),
            ("batch_size", |config| config.batch_size = 0),
            ("start_e", |config| config.start_e = -0.1),
            ("end_e", |config| config.end_e = 1.1),
            ("exploration_fraction", |config| config.exploration_fraction = f32::NAN),
            ("eval_epsilon", |config| config.eval_epsilon = 2.0),
            ("learning_starts", |config| config.learning_starts = 1_000_001),
            ("train_ratio", |config| config.train_ratio = 0.0),
            ("n_step", |config| config.n_step = 0),
            ("noisy_sigma", |config| config.noisy_sigma = 0.0),
            ("per_alpha", |config| config.per_alpha = 1.1),
            ("per_beta", |config| config.per_beta = -1.0),
            ("num_atoms", |config| config.num_atoms = 1),
            ("v_min", |config| config.v_min = f32::NEG_INFINITY),
            ("v_max", |config| config.v_max = -10.0),
            ("max_grad_norm", |config| config.max_grad_norm = Some(0.0)),
            ("train_ratio", |config| config.train_ratio = f64::INFINITY),
        ];
        for (field, change) in cases {
            let mut config = DqnConfig::default();
            change(&mut config);
            assert_eq!(config.validate().unwrap_err().field, field);
        }
    }
}
