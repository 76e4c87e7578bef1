use std::path::PathBuf;

use gymnasium_workers::{EnvOptions, WrapperOptions};
use serde::{Deserialize, Serialize};
use serde_json::Map;
use settings::{ConfigError, Kind, Limits, Settings, Value, above, at_least, between, settings};

/// Keyword arguments for a Python callable.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Kwargs(Map<String, serde_json::Value>);

impl Value for Kwargs {
    const KIND: Kind = Kind::Table { allowed: "a table of keyword arguments" };
}

/// Wrappers around environments, the innermost first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Wrappers(Vec<Wrapper>);

/// A wrapper: its name, or its name with keyword arguments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected the dotted name of a wrapper, or a table with name and kwargs")]
enum Wrapper {
    Name(String),
    WithArguments(WrapperOptions),
}

impl Wrapper {
    /// Returns the name and the keyword arguments.
    fn options(&self) -> WrapperOptions {
        match self {
            Self::Name(name) => WrapperOptions { name: name.clone(), kwargs: Map::new() },
            Self::WithArguments(options) => options.clone(),
        }
    }
}

impl Value for Wrappers {
    const KIND: Kind = Kind::Items { allowed: "a list of dotted names, or of tables with a name and kwargs" };
}

settings! {
    /// Environments in Python, selected by names such as `gymnasium:LunarLander-v3` (an id of Gymnasium's registry;
    /// `gym:` means the same), `gymnasium:my_package:Corridor-v0` (imports `my_package` first) and
    /// `python:my_package.envs:make_env` (a function or class). They run in worker processes of your Python, which
    /// needs Gymnasium 1.0 or newer and NumPy.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub(crate) struct GymnasiumSettings {
        /// Keyword arguments of `gymnasium.make` or of the callable, such as `{ continuous = true }`.
        pub(crate) kwargs: Kwargs = Kwargs::default(); fixed "the checkpoint has the state of each environment",
        /// Wrappers around each environment, the innermost first: dotted names such as
        /// `"gymnasium.wrappers.ClipReward"`, or tables with arguments such as
        /// `{ name = "gymnasium.wrappers.ClipReward", kwargs = { min_reward = -1 } }`.
        pub(crate) wrappers: Wrappers = Wrappers::default(); fixed "the checkpoint has the state of each environment",
        /// A file with definitions of environments that cannot be imported from a module, such as classes of a
        /// notebook. The Python package writes it.
        pub(crate) definitions: Option<PathBuf> = None,
        /// The number of consecutive observations that are stacked into one observation of the agent, the newest last.
        /// Above 1, `gymnasium.wrappers.FrameStackObservation` is added outside the other wrappers.
        pub(crate) frame_stack: u32 = 1 => between(1.0, ale::MAX_STACK_NUM as f64); fixed "the network was trained on other observations",
        /// True if actions are restricted by `info["action_mask"]`. Every reset and step of every environment must then
        /// return it: zeros and ones, one for each option of a `Discrete` space, or for each option of each choice of a
        /// `MultiDiscrete` space.
        pub(crate) action_masks: bool = false; fixed "the network was trained with masks or without",
        /// The number of steps after which an episode is truncated, instead of the registered number.
        pub(crate) max_episode_steps: Option<u32> = None => at_least(1.0); fixed "the checkpoint has the state of each environment",
        /// The number of worker processes; 0 means one for each thread. Results do not depend on it.
        pub(crate) workers: usize = 0 => between(0.0, gymnasium_workers::MAX_NUM_ENVS as f64),
        /// The maximum number of seconds for a step or a reset of one environment.
        pub(crate) timeout: f64 = 60.0 => above(0.0),
        /// The Python interpreter. If absent, that of `$VIRTUAL_ENV`, or else `python3` on the path.
        pub(crate) python: Option<PathBuf> = None,
    }
}

impl Value for GymnasiumSettings {
    const KIND: Kind = Kind::Section { lines: Self::ABOUT, fields: Self::FIELDS };

    fn check(&self, field: &str, _: Limits) -> Result<(), ConfigError> {
        Settings::check(self).map_err(|error| error.within(field))
    }
}

impl GymnasiumSettings {
    /// Returns the options of each environment. Environments that are shown need a render mode.
    pub(crate) fn env_options(&self, are_shown: bool) -> EnvOptions {
        let stack = (self.frame_stack > 1).then(|| WrapperOptions {
            name: "gymnasium.wrappers.FrameStackObservation".to_owned(),
            kwargs: Map::from_iter([("stack_size".to_owned(), self.frame_stack.into())]),
        });
        EnvOptions {
            kwargs: self.kwargs.0.clone(),
            wrappers: self.wrappers.0.iter().map(Wrapper::options).chain(stack).collect(),
            render_mode: are_shown.then(|| "rgb_array".to_owned()),
            max_episode_steps: self.max_episode_steps,
        }
    }
}
