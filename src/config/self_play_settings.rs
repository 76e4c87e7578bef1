use serde::{Deserialize, Serialize};
use settings::{ConfigError, Kind, Limits, Settings, Value, at_least, between, settings};

settings! {
    /// Games of several players, such as `pong@2p`. The agent plays every side of a game itself, or one side against an
    /// earlier version of itself. Observations have one more channel, which tells the sides apart. `num_envs` counts
    /// the sides that the agent plays and learns from, and a frame that it sees from two sides counts twice.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub(crate) struct SelfPlaySettings {
        /// The share of the environments in which the others are earlier versions; rounded, so that the agent plays all
        /// sides of the remaining games.
        pub(crate) past_share: f64 = 0.25 => between(0.0, 1.0); fixed "the checkpoint has the state of each environment",
        /// The number of emulated frames after which the agent joins the earlier versions. The first of them is the
        /// agent before training.
        pub(crate) interval_frames: u64 = 1_000_000 => at_least(1.0),
        /// The number of earlier versions to keep. If there are more, those remain that are spread most evenly over the
        /// training so far.
        pub(crate) versions: usize = 8 => between(2.0, 64.0),
    }
}

impl Value for SelfPlaySettings {
    const KIND: Kind = Kind::Section { lines: Self::ABOUT, fields: Self::FIELDS };

    fn check(&self, field: &str, _: Limits) -> Result<(), ConfigError> {
        Settings::check(self).map_err(|error| error.within(field))
    }
}
