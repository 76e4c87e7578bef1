use serde::{Deserialize, Serialize};
use settings::{Settings, above, at_least, between, choices, settings};

use crate::action_values::LossKind;
use crate::engine::replay_plan::ReplayPlan;
use crate::networks::{ObservationLayout, PolicyConfig};
use crate::{ConfigError, ValueScale};

choices! {
    /// The representation of an action's return.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub enum Distribution {
        /// Its mean (Mnih et al. 2015).
        #[default]
        Mean = "mean",
        /// Probabilities of `num_atoms` fixed values from `v_min` to `v_max` (C51, Bellemare et al. 2017,
        /// <https://arxiv.org/abs/1707.06887>).
        C51 = "c51",
        /// `num_atoms` quantiles (QR-DQN, Dabney et al. 2018, <https://arxiv.org/abs/1710.10044>).
        Quantile = "quantile",
    }
}

choices! {
    /// Random changes of the images of a minibatch.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub enum Augmentation {
        /// No changes.
        #[default]
        None = "none",
        /// Shifts by up to 4 pixels and brightness factors from 0.9 to 1.1 (Kostrikov et al. 2020,
        /// <https://arxiv.org/abs/2004.13649>).
        Drq = "drq",
    }
}

settings! {
    /// Hyperparameters of DQN and its extensions up to Rainbow, named as in the literature. The defaults are those of
    /// `dqn_atari.py` in CleanRL.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    pub struct DqnConfig {
        /// The number of steps to train for, over all environments.
        pub total_steps: u64 = 10_000_000 => at_least(1.0),
        /// Step size of the optimiser.
        pub learning_rate: f64 = 1e-4 => above(0.0),
        /// The epsilon of Adam.
        pub adam_epsilon: f32 = 1e-8 => above(0.0),
        /// Capacity of the replay buffer in steps over all environments, at least `batch_size`. Every game has an equal
        /// share.
        pub buffer_size: usize = 1_000_000; fixed "the replay buffer has this capacity",
        /// Discount factor per step.
        pub gamma: f32 = 0.99 => between(0.0, 1.0),
        /// Weight of the online network in an update of the target network (Polyak averaging); 1 copies it.
        pub tau: f32 = 1.0 => above(0.0).up_to(1.0),
        /// The number of gradient steps between two updates of the target network.
        pub target_network_frequency: u64 = 250 => at_least(1.0),
        /// The number of steps in a minibatch.
        pub batch_size: usize = 32 => at_least(1.0),
        /// Probability of a random action at the start of training.
        pub start_e: f32 = 1.0 => between(0.0, 1.0),
        /// Probability of a random action at the end of its decay.
        pub end_e: f32 = 0.01 => between(0.0, 1.0),
        /// The fraction of training over which the probability of a random action decays linearly.
        pub exploration_fraction: f32 = 0.1 => between(0.0, 1.0),
        /// Probability of a random action in evaluations.
        pub eval_epsilon: f32 = 0.05 => between(0.0, 1.0),
        /// The number of steps in the replay buffer before learning starts, at most `buffer_size`.
        pub learning_starts: usize = 80_000,
        /// The number of gradient steps per step of an environment: 0.25 is one for every four steps.
        pub train_ratio: f64 = 0.25 => above(0.0),
        /// The number of rewards in a return before it is bootstrapped.
        pub n_step: usize = 1 => at_least(1.0); fixed "the steps in the replay were prepared for returns of this length",
        /// True if the online network selects the action that the target network evaluates (double DQN, van Hasselt et
        /// al. 2016, <https://arxiv.org/abs/1509.06461>).
        pub double: bool = false,
        /// True if action values are the sum of a state value and advantages (Wang et al. 2016,
        /// <https://arxiv.org/abs/1511.06581>).
        pub dueling: bool = false; fixed "the shape of the network depends on it",
        /// True if the layers above the torso have learned noise (Fortunato et al. 2018,
        /// <https://arxiv.org/abs/1706.10295>). With vector observations the first layer is part of the torso. Combine
        /// it with `start_e` and `end_e` of 0.
        pub noisy: bool = false; fixed "the shape of the network depends on it",
        /// Initial scale of the noise of noisy layers.
        pub noisy_sigma: f64 = 0.5 => above(0.0); fixed "the network was initialised with it",
        /// True if steps are sampled in proportion to their last error and weighted accordingly (Schaul et al. 2016,
        /// <https://arxiv.org/abs/1511.05952>).
        pub prioritized: bool = false; fixed "the replay stores priorities only with it",
        /// Exponent of the priorities; 0 makes them equal.
        pub per_alpha: f32 = 0.5 => between(0.0, 1.0); fixed "the priorities in the replay were computed with it",
        /// Exponent of the importance weights at the start of training; it rises to 1 at the end.
        pub per_beta: f32 = 0.4 => between(0.0, 1.0),
        /// The representation of an action's return.
        pub distribution: Distribution = Distribution::Mean; fixed "the shape of the network depends on it",
        /// The number of atoms or quantiles per action, if a distribution is learned.
        pub num_atoms: usize = 51 => between(2.0, 65_536.0); fixed "the shape of the network depends on it",
        /// The smallest return that `c51` represents, in the scale of `policy.value_scale`.
        pub v_min: f32 = -10.0; fixed "the outputs of the network are probabilities of these returns",
        /// The largest return that `c51` represents, in the same scale; above `v_min`.
        pub v_max: f32 = 10.0; fixed "the outputs of the network are probabilities of these returns",
        /// The loss with `distribution = "mean"`.
        pub loss: LossKind = LossKind::Mse,
        /// Random changes of the images that the network learns from: `drq` shifts them by up to 4 pixels and changes
        /// their brightness by up to a tenth (Kostrikov et al. 2020). Images only.
        pub augmentation: Augmentation = Augmentation::None,
        /// The norm to which the gradient of all parameters is clipped. No limit if absent.
        pub max_grad_norm: Option<f32> = None => above(0.0),
    }
}

impl DqnConfig {
    /// Checks every field.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.check()?;
        self.plan().validate()?;
        ConfigError::unless(
            self.v_max > self.v_min,
            "v_max",
            &self.v_max,
            format!("above {} (v_min)", self.v_min),
        )
    }

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

    /// Checks that observations of `layout` can be augmented as configured.
    pub(super) fn validate_observations(&self, layout: ObservationLayout) -> Result<(), ConfigError> {
        let is_possible =
            self.augmentation == Augmentation::None || matches!(layout, ObservationLayout::Images { .. });
        ConfigError::unless(is_possible, "augmentation", &"drq", "none for observations that are not images")
    }

    /// Checks that DQN can train a network of `policy`.
    pub fn validate_policy(&self, policy: &PolicyConfig) -> Result<(), ConfigError> {
        policy.validate_action_values()?;
        let is_possible = policy.value_scale != ValueScale::PopArt || self.distribution != Distribution::C51;
        let allowed = "none, h or symlog with dqn.distribution = \"c51\", whose returns are fixed";
        ConfigError::unless(is_possible, "value_scale", &"popart", allowed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_valid() {
        assert_eq!(DqnConfig::default().validate(), Ok(()));
    }

    #[test]
    fn errors_name_the_invalid_field() {
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
