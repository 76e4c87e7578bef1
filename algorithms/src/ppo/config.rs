use serde::{Deserialize, Deserializer, Serialize};

use crate::ConfigError;
use crate::config_error::{check, check_positive, check_unit};
use crate::rollout_plan::RolloutPlan;

/// Among what advantages are normalised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NormAdv {
    /// Among those of a minibatch.
    #[default]
    Batch,
    /// Among those of a game in a rollout.
    Game,
    /// Not at all.
    None,
}

/// By its name, or in a text as the switch that it is for most.
fn norm_adv<'de, D: Deserializer<'de>>(deserializer: D) -> Result<NormAdv, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "expected `batch`, `game`, `none`, true or false")]
    enum Written {
        Switch(bool),
        Name(NormAdv),
    }

    if !deserializer.is_human_readable() {
        return NormAdv::deserialize(deserializer);
    }
    Ok(match Written::deserialize(deserializer)? {
        Written::Switch(true) => NormAdv::Batch,
        Written::Switch(false) => NormAdv::None,
        Written::Name(name) => name,
    })
}

/// The hyperparameters of PPO, by the names of the papers. The defaults are those of `CleanRL`'s `ppo_atari.py`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PpoConfig {
    /// Steps (agent decisions) of all environments together that training is planned for: at least one rollout.
    /// The learning rate reaches its end there.
    pub total_steps: u64,
    /// Steps of each environment between two updates: 2 or more, so that not all of them can be resets.
    pub num_steps: usize,
    /// The optimiser's step size at the beginning: more than 0.
    pub learning_rate: f64,
    /// Whether the learning rate falls on a straight line to 0 in the course of training.
    pub anneal_lr: bool,
    /// The discount of rewards from step to step: 0 to 1.
    pub gamma: f32,
    /// How far advantages look ahead: from 0 (one step) to 1 (the whole rollout).
    pub gae_lambda: f32,
    /// Parts that a rollout is split into, each one step of the optimiser: 1 or more, at most the rollout's steps.
    pub num_minibatches: usize,
    /// How often each rollout is learned from: 1 or more.
    pub update_epochs: usize,
    /// Among what advantages are shifted to mean 0 and scaled to standard deviation 1. `true` and `false` may be written
    /// for the first and the last.
    #[serde(deserialize_with = "norm_adv")]
    pub norm_adv: NormAdv,
    /// How far the probability of an action may move from the one it was taken with before its gradient ends, as a
    /// part of it: more than 0. Also how far values may move, where `clip_vloss` is set.
    pub clip_coef: f32,
    /// Whether the value loss is clipped as well.
    pub clip_vloss: bool,
    /// The weight of the entropy bonus: 0 or more.
    pub ent_coef: f32,
    /// The weight of the value loss: 0 or more.
    pub vf_coef: f32,
    /// The length to which the gradient of all parameters together is clipped: more than 0.
    pub max_grad_norm: f32,
    /// Ends an update after the epoch whose last minibatch moved the policy further than this (approximate
    /// Kullback-Leibler divergence): more than 0, or absent for no such limit.
    pub target_kl: Option<f32>,
}

impl Default for PpoConfig {
    fn default() -> Self {
        Self {
            total_steps: 10_000_000,
            num_steps: 128,
            learning_rate: 2.5e-4,
            anneal_lr: true,
            gamma: 0.99,
            gae_lambda: 0.95,
            num_minibatches: 4,
            update_epochs: 4,
            norm_adv: NormAdv::Batch,
            clip_coef: 0.1,
            clip_vloss: true,
            ent_coef: 0.01,
            vf_coef: 0.5,
            max_grad_norm: 0.5,
            target_kl: None,
        }
    }
}

impl PpoConfig {
    /// Checks every field, with `num_envs` environments in mind.
    pub fn validate(&self, num_envs: usize) -> Result<(), ConfigError> {
        let at_least_zero = |value: f32| value.is_finite() && value >= 0.0;
        self.plan().validate(num_envs)?;
        check_unit("gae_lambda", self.gae_lambda)?;
        check_positive("clip_coef", self.clip_coef)?;
        check("ent_coef", &self.ent_coef, at_least_zero(self.ent_coef), "a number from 0")?;
        check("vf_coef", &self.vf_coef, at_least_zero(self.vf_coef), "a number from 0")?;
        match self.target_kl {
            Some(target_kl) => {
                let possible = target_kl.is_finite() && target_kl > 0.0;
                check("target_kl", &target_kl, possible, "a number above 0, or absent")
            }
            None => Ok(()),
        }
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
        assert_eq!(PpoConfig::default().validate(8), Ok(()));
    }

    #[test]
    fn each_impossible_value_is_named() {
        type Change = fn(&mut PpoConfig);
        let cases: [(&str, Change); 15] = [
            ("num_steps", |config| config.num_steps = 1),
            ("total_steps", |config| config.total_steps = 1023),
            ("learning_rate", |config| config.learning_rate = 0.0),
            ("learning_rate", |config| config.learning_rate = f64::NAN),
            ("gamma", |config| config.gamma = 1.5),
            ("gae_lambda", |config| config.gae_lambda = -0.1),
            ("num_minibatches", |config| config.num_minibatches = 0),
            ("num_minibatches", |config| config.num_minibatches = 1025),
            ("update_epochs", |config| config.update_epochs = 0),
            ("clip_coef", |config| config.clip_coef = 0.0),
            ("ent_coef", |config| config.ent_coef = -1.0),
            ("vf_coef", |config| config.vf_coef = f32::NAN),
            ("max_grad_norm", |config| config.max_grad_norm = f32::INFINITY),
            ("target_kl", |config| config.target_kl = Some(0.0)),
            ("gamma", |config| config.gamma = f32::NAN),
        ];
        for (field, change) in cases {
            let mut config = PpoConfig::default();
            change(&mut config);
            assert_eq!(config.validate(8).unwrap_err().field, field);
        }
        let error = PpoConfig { gamma: 1.5, ..PpoConfig::default() }.validate(8).unwrap_err();
        assert_eq!(error.to_string(), "gamma = 1.5 is not possible: it must be in 0..=1");
    }
}
