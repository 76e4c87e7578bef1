use serde::{Deserialize, Deserializer, Serialize, Serializer};
use settings::{ConfigError, Kind, Limits, Settings, Value, above, at_least, between, settings};

settings! {
    /// Random Network Distillation (Burda et al. 2018, <https://arxiv.org/abs/1810.12894>): intrinsic rewards for
    /// observations that a network cannot predict yet, for tasks whose rewards are rare. The keys are named as in
    /// CleanRL's `ppo_rnd_envpool.py`. Not possible with `ppo.overlap`, `policy.lstm`, 16-bit floats, several processes
    /// or shards, devices other than the CPU, and self-play.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    pub struct RndConfig {
        /// True if the agent learns from intrinsic rewards too.
        pub enabled: bool = false; fixed "the network has layers for intrinsic rewards or not",
        /// Weight of the advantages of intrinsic rewards.
        pub int_coef: f32 = 1.0 => at_least(0.0),
        /// Weight of the advantages of the rewards of the environments.
        pub ext_coef: f32 = 2.0 => at_least(0.0),
        /// Discount factor of intrinsic rewards per step. Intrinsic returns do not end with episodes. The paper has
        /// 0.999 for `ppo.gamma`.
        pub int_gamma: f32 = 0.99 => between(0.0, 1.0),
        /// The share of the steps of a minibatch that the predictor learns from, in random order.
        pub update_proportion: f32 = 0.25 => above(0.0).up_to(1.0),
        /// The number of rollouts at the beginning that only initialise the statistics of the observations. The initial
        /// policy, which is almost uniform, collects them, and the network does not learn.
        pub num_iterations_obs_norm_init: usize = 50,
        /// The number of features that the predictor learns, and the width of its hidden layers.
        pub features: usize = 512 => between(1.0, 65_536.0); fixed "the shapes of the networks depend on it",
        /// The number of channels of the newest frame of an image, which are the last ones of an observation; 0 for
        /// all. Set it to 0 for images that are not stacks of grey frames, such as those of MiniGrid.
        pub channels: usize = 1 => between(0.0, 65_536.0); fixed "the shapes of the networks depend on it",
    }
}

impl Value for RndConfig {
    const KIND: Kind = Kind::Section { lines: Self::ABOUT, fields: Self::FIELDS };

    fn check(&self, field: &str, _: Limits) -> Result<(), ConfigError> {
        Settings::check(self).map_err(|error| error.within(field))
    }
}

/// The encoding of the settings as a part of those of PPO. A state is binary and has them in its optional part, so that
/// the state of PPO without intrinsic rewards does not contain them.
pub(crate) mod in_text {
    use super::{Deserialize, Deserializer, RndConfig, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(config: &RndConfig, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            config.serialize(serializer)
        } else {
            serializer.serialize_unit()
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<RndConfig, D::Error> {
        if deserializer.is_human_readable() {
            return RndConfig::deserialize(deserializer);
        }
        <()>::deserialize(deserializer)?;
        Ok(RndConfig::default())
    }
}
