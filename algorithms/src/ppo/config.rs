use serde::{Deserialize, Serialize};
use settings::{Settings, above, at_least, between, choices, settings};

use super::rnd::RndConfig;
use crate::cluster::Cluster;
use crate::engine::rollout_plan::RolloutPlan;
use crate::networks::{ObservationLayout, PolicyConfig, Precision};
use crate::{ConfigError, TaskActions};

choices! {
    /// The set of advantages that are normalised together.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub enum NormAdv {
        /// Each minibatch.
        #[default]
        Batch = "batch" | true,
        /// Each game within a rollout.
        Game = "game",
        /// Advantages are not normalised.
        None = "none" | false,
    }
}

settings! {
    /// Hyperparameters of Proximal Policy Optimization (Schulman et al. 2017, <https://arxiv.org/abs/1707.06347>),
    /// named as in the literature. The defaults are those of `ppo_atari.py` in CleanRL.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    pub struct PpoConfig {
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
        /// The lambda of generalized advantage estimation: 0 for one-step advantages, 1 for Monte Carlo advantages.
        pub gae_lambda: f32 = 0.95 => between(0.0, 1.0),
        /// The number of minibatches of a rollout, at most `num_envs * num_steps`. The optimiser takes one step for
        /// each.
        pub num_minibatches: usize = 4 => at_least(1.0),
        /// The number of epochs over each rollout.
        pub update_epochs: usize = 4 => at_least(1.0),
        /// The set of advantages that are normalised to mean 0 and standard deviation 1 together: those of each
        /// minibatch, those of each game within a rollout, or none. `true` stands for `batch`, `false` for `none`.
        pub norm_adv: NormAdv = NormAdv::Batch,
        /// The least standard deviation by which normalised advantages are divided. Without a floor, the advantages of
        /// a game that never scores, which are errors of its values, weigh as much as those of any other game.
        pub norm_adv_floor: f32 = 0.0 => at_least(0.0),
        /// The change of an action's probability ratio at which the surrogate objective is clipped. Also the clipping
        /// range of values with `clip_vloss`.
        pub clip_coef: f32 = 0.1 => above(0.0),
        /// True if the value loss is clipped too.
        pub clip_vloss: bool = true,
        /// Weight of the entropy bonus.
        pub ent_coef: f32 = 0.01 => at_least(0.0),
        /// True if the entropy of each game is divided by its largest value, the logarithm of the number of actions.
        /// Then `ent_coef` has the same effect in games with few and with many actions.
        pub norm_ent: bool = false,
        /// Weight of the value loss.
        pub vf_coef: f32 = 0.5 => at_least(0.0),
        /// The norm to which the gradient of all parameters is clipped.
        pub max_grad_norm: f32 = 0.5 => above(0.0),
        /// The approximate KL divergence between the old and the new policy above which an update stops at the end of
        /// an epoch. No limit if absent. With `overlap` it includes the divergence that the previous update caused.
        pub target_kl: Option<f32> = None => above(0.0),
        /// True if the next rollout is collected during the update, with the policy from before the update. The rollout
        /// is then one update old when the network learns from it, which V-trace corrects. Needs the memory of a second
        /// rollout. Useful if the device would otherwise wait for the environments. Not possible with several
        /// processes or shards.
        pub overlap: bool = false; fixed "with overlap, the state holds two learners",
        /// Intrinsic rewards.
        #[serde(with = "super::rnd::in_text")]
        pub rnd: RndConfig = RndConfig::default(),
    }
}

impl PpoConfig {
    /// Checks every field, given the number of environments.
    pub fn validate(&self, num_envs: usize) -> Result<(), ConfigError> {
        self.check()?;
        self.plan().validate(num_envs)
    }

    /// Checks that the network and the updates allow intrinsic rewards, if there are any.
    pub(super) fn validate_rnd(&self, policy: &PolicyConfig) -> Result<(), ConfigError> {
        if !self.rnd.enabled {
            return Ok(());
        }
        let precision = policy.precision;
        let allowed = "false with ppo.rnd.enabled = true";
        ConfigError::unless(!self.overlap, "ppo.overlap", &self.overlap, allowed)?;
        let allowed = "0 with ppo.rnd.enabled = true";
        ConfigError::unless(policy.lstm == 0, "policy.lstm", &policy.lstm, allowed)?;
        let allowed = "f32 with ppo.rnd.enabled = true";
        ConfigError::unless(precision == Precision::F32, "policy.precision", &precision.name(), allowed)
    }

    /// Checks that observations have frames for intrinsic rewards, if there are any.
    pub(super) fn validate_frames(&self, layout: ObservationLayout) -> Result<(), ConfigError> {
        let is_possible = !self.rnd.enabled || !matches!(layout, ObservationLayout::Mixed { .. });
        let allowed = "false for observations of several parts";
        ConfigError::unless(is_possible, "ppo.rnd.enabled", &true, allowed)
    }

    /// Checks that the processes of a cluster can train together.
    pub(super) fn validate_cluster(&self, cluster: &Cluster) -> Result<(), ConfigError> {
        let is_possible = !self.rnd.enabled || cluster.has_single_shard();
        let allowed = "false with several processes or shards";
        ConfigError::unless(is_possible, "ppo.rnd.enabled", &true, allowed)
    }

    /// Returns the weight of the entropy of policies over these actions.
    pub(super) fn entropy_weight(&self, actions: &TaskActions) -> f32 {
        if self.norm_ent { actions.inverse_entropy() } else { 1.0 }
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
        assert_eq!(PpoConfig::default().validate(8), Ok(()));
    }

    #[test]
    fn errors_name_the_invalid_field() {
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
        assert_eq!(error.to_string(), "gamma = 1.5 is invalid: it must be in 0..=1");
    }
}
