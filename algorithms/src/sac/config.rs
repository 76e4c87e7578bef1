use serde::{Deserialize, Serialize};
use settings::{Settings, above, at_least, between, settings};

use crate::ConfigError;
use crate::engine::replay_plan::ReplayPlan;

settings! {
    /// Hyperparameters of Soft Actor-Critic (Haarnoja et al. 2018, <https://arxiv.org/abs/1812.05905>), also for
    /// discrete actions (Christodoulou 2019, <https://arxiv.org/abs/1910.07207>). The defaults are those of
    /// `sac_continuous_action.py` in CleanRL; `atari-sac.toml` has those of `sac_atari.py`.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    pub struct SacConfig {
        /// The number of steps to train for, over all environments.
        pub total_steps: u64 = 1_000_000 => at_least(1.0),
        /// Step size of the optimiser of the policy.
        pub policy_lr: f64 = 3e-4 => above(0.0),
        /// Step size of the optimisers of the critics and of the temperature.
        pub q_lr: f64 = 1e-3 => above(0.0),
        /// Capacity of the replay buffer in steps over all environments, at least `batch_size`. Every task has an equal
        /// share.
        pub buffer_size: usize = 1_000_000; fixed "the replay buffer has this capacity",
        /// Discount factor per step.
        pub gamma: f32 = 0.99 => between(0.0, 1.0),
        /// Weight of the critics in an update of the target critics (Polyak averaging); 1 copies them.
        pub tau: f32 = 0.005 => above(0.0).up_to(1.0),
        /// The number of gradient steps between two updates of the target critics.
        pub target_network_frequency: u64 = 1 => at_least(1.0),
        /// The number of steps in a minibatch.
        pub batch_size: usize = 256 => at_least(1.0),
        /// The number of steps with uniformly random actions before learning starts, at most `buffer_size`.
        pub learning_starts: usize = 5_000,
        /// The number of gradient steps of the critics per step of an environment.
        pub train_ratio: f64 = 1.0 => above(0.0),
        /// The number of gradient steps of the critics between two updates of the policy. Each update of the policy
        /// makes the same number of gradient steps, to compensate for the delay.
        pub policy_frequency: u64 = 2 => at_least(1.0),
        /// True if the temperature is learned, so that the entropy of the policy approaches its target. It begins at 1.
        pub autotune: bool = true,
        /// The temperature without `autotune`: the weight of the policy's entropy relative to the rewards.
        pub alpha: f32 = 0.2 => at_least(0.0),
        /// Factor of the target entropy. Without it, the target is minus the number of components of a continuous
        /// action, for actions in -1..=1, whatever the bounds of the action space. For discrete actions, it is 0.89
        /// times the entropy of uniformly random actions of the game, as in CleanRL.
        pub target_entropy_scale: f32 = 1.0,
        /// Correlation of the action noise of an environment between successive steps of training; 0 is independent
        /// noise. The noise of a step keeps its distribution but lasts longer: an Ornstein-Uhlenbeck process, as in
        /// Lillicrap et al. 2016 (<https://arxiv.org/abs/1509.02971>). Before learning starts, random actions are
        /// repeated with this probability. It must be 0 for discrete actions.
        pub noise_correlation: f32 = 0.0 => at_least(0.0).below(1.0),
    }
}

impl SacConfig {
    pub(super) fn plan(&self) -> ReplayPlan {
        let Self {
            total_steps,
            buffer_size,
            batch_size,
            learning_starts,
            train_ratio,
            target_network_frequency,
            ..
        } = *self;
        ReplayPlan {
            total_steps,
            buffer_size,
            batch_size,
            learning_starts,
            train_ratio,
            target_network_frequency,
        }
    }

    /// Checks every field.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.check()?;
        self.plan().validate()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_valid() {
        assert_eq!(SacConfig::default().validate(), Ok(()));
    }

    #[test]
    fn errors_name_the_invalid_field() {
        type Change = fn(&mut SacConfig);
        let cases: [(&str, Change); 15] = [
            ("total_steps", |config| config.total_steps = 0),
            ("policy_lr", |config| config.policy_lr = f64::NAN),
            ("q_lr", |config| config.q_lr = 0.0),
            ("buffer_size", |config| config.buffer_size = 255),
            ("gamma", |config| config.gamma = 1.5),
            ("tau", |config| config.tau = 0.0),
            ("target_network_frequency", |config| config.target_network_frequency = 0),
            ("batch_size", |config| config.batch_size = 0),
            ("learning_starts", |config| config.learning_starts = 1_000_001),
            ("train_ratio", |config| config.train_ratio = f64::INFINITY),
            ("policy_frequency", |config| config.policy_frequency = 0),
            ("alpha", |config| config.alpha = -0.1),
            ("target_entropy_scale", |config| config.target_entropy_scale = f32::NAN),
            ("noise_correlation", |config| config.noise_correlation = 1.0),
            ("train_ratio", |config| config.train_ratio = 0.0),
        ];
        for (field, change) in cases {
            let mut config = SacConfig::default();
            change(&mut config);
            assert_eq!(config.validate().unwrap_err().field, field);
        }
    }
}
