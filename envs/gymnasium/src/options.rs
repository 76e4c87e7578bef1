//! Options of environments and of vector environments. All can be read from files with serde.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use rl_env::AutoresetMode;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::BuildError;

/// A wrapper around an environment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrapperOptions {
    /// The dotted name of the class or function, such as `gymnasium.wrappers.ClipReward`.
    pub name: String,
    /// The keyword arguments beside the environment.
    #[serde(default)]
    pub kwargs: Map<String, Value>,
}

/// Options of the environments of a group.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EnvOptions {
    /// The keyword arguments of `gymnasium.make` or of the callable.
    pub kwargs: Map<String, Value>,
    /// Wrappers, the innermost first.
    pub wrappers: Vec<WrapperOptions>,
    /// The render mode. [`render`](crate::WorkerVectorEnv::render) needs `rgb_array`.
    pub render_mode: Option<String>,
    /// The number of steps after which episodes are truncated, instead of the registered one.
    pub max_episode_steps: Option<u32>,
}

/// Environments of one name: a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnvGroup {
    /// The name:
    ///
    /// * `gymnasium:LunarLander-v3` is an id of Gymnasium's registry; `gym:` means the same.
    /// * `gymnasium:my_package:Corridor-v0` imports `my_package` first, which registers the id.
    /// * `python:my_package.envs:make_env` is a function or class that returns an environment.
    pub name: String,
    /// The number of environments.
    pub num_envs: usize,
    /// Their options.
    #[serde(default)]
    pub options: EnvOptions,
}

/// The choice of environments for a batch with fewer rows than environments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum BatchOrder {
    /// The environments that finish first. Those of one worker that were sent to together finish together.
    #[default]
    FirstCome,
    /// Fixed groups of consecutive environments in turn: while the caller chooses actions for one group, the others
    /// step. The batch size must divide the number of environments.
    InTurn,
}

/// Options of a [`WorkerVectorEnv`](crate::WorkerVectorEnv). The default steps all environments together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WorkerOptions {
    /// The number of worker processes, at most one for each environment; 0 means one for each core. Environments are
    /// split into consecutive parts of almost equal size. Results do not depend on it.
    pub workers: usize,
    /// The number of rows of a batch, at most the number of environments; 0 means one for each environment.
    pub batch_size: usize,
    /// The choice of environments for a batch with fewer rows than environments.
    pub batch_order: BatchOrder,
    /// The time at which an environment is reset after the end of an episode.
    pub autoreset_mode: AutoresetMode,
    /// True if observations become what learners need. Otherwise, a `Box` keeps its shape, and its type if that is
    /// `uint8`, `int8`, `int64` or `float32`.
    ///
    /// * A `Box` of `uint8` or `bool` with three axes is an image, or with four axes a stack of images. It becomes a
    ///   `Box` of `uint8` with the axes channels, height and width. The channels are the first or the last axis: the
    ///   odd one out if the other two are equal, otherwise the shorter one, or the last. Images have at least 4 x 4
    ///   pixels.
    /// * With two axes of at least 36 pixels, it is an image with one channel.
    /// * A `Box` of `uint8` with one axis stays as it is.
    /// * A `Dict` or `Tuple` with such images becomes a [`Space::Tuple`](rl_env::Space::Tuple): the images, and all
    ///   other parts as a vector of 32-bit floats. There can be four images.
    /// * All other observations become vectors of 32-bit floats.
    pub flatten: bool,
    /// True if the `info` of each reset and step has an `action_mask`, which becomes a row of
    /// [`Batch::action_masks`](rl_env::Batch::action_masks). For `Discrete(n)` it is an array of `n` numbers or truth
    /// values, for `MultiDiscrete` and `MultiBinary` the arrays of all choices in a tuple or one after the other.
    pub action_masks: bool,
    /// If given, vectors of 32-bit floats with different spaces are padded with zeros to the longest one, so that their
    /// environments can share batches. A number above 0 pads all vectors to at least this length. Their space then has
    /// no bounds.
    pub pad: Option<usize>,
    /// The Python interpreter. By default `bin/python` in the directory `$VIRTUAL_ENV`, if that is set, or else
    /// `python3` on the path.
    pub python: Option<PathBuf>,
    /// Directories in which Python looks for modules first.
    pub paths: Vec<PathBuf>,
    /// A file with definitions of environments that no module has, such as classes of a notebook: two pickles, the
    /// directories of modules, and a dictionary from [names](EnvGroup::name) to callables or, for `gymnasium:`, to
    /// `EnvSpec`s. Reading it can execute code.
    pub definitions: Option<PathBuf>,
    /// The most seconds for a step, a reset or another call of one environment. After that its worker is ended.
    pub timeout: f64,
    /// The most seconds in which the workers have to start and make all environments.
    pub start_timeout: f64,
}

impl Default for WorkerOptions {
    fn default() -> Self {
        Self {
            workers: 0,
            batch_size: 0,
            batch_order: BatchOrder::FirstCome,
            autoreset_mode: AutoresetMode::default(),
            flatten: false,
            action_masks: false,
            pad: None,
            python: None,
            paths: Vec::new(),
            definitions: None,
            timeout: 60.0,
            start_timeout: 300.0,
        }
    }
}

impl WorkerOptions {
    /// Returns the effective batch size.
    pub(crate) fn batch_size_for(&self, num_envs: usize) -> Result<usize, BuildError> {
        let batch_size = if self.batch_size == 0 { num_envs } else { self.batch_size };
        if batch_size > num_envs {
            return Err(BuildError::BatchSize { batch_size, num_envs });
        }
        if self.batch_order == BatchOrder::InTurn && !num_envs.is_multiple_of(batch_size) {
            return Err(BuildError::UnevenTurns { batch_size, num_envs });
        }
        Ok(batch_size)
    }

    /// Returns the effective number of workers.
    pub(crate) fn workers_for(&self, num_envs: usize) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let workers = if self.workers == 0 { cores() } else { self.workers };
        workers.min(num_envs)
    }
}

/// Returns a time limit in seconds as a duration.
pub(crate) fn limit(name: &'static str, seconds: f64) -> Result<Duration, BuildError> {
    let duration = Duration::try_from_secs_f64(seconds).ok().filter(|duration| !duration.is_zero());
    duration.ok_or(BuildError::Timeout { name, seconds: seconds.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_have_defaults_and_no_other_keys() {
        let options: WorkerOptions =
            serde_json::from_str(r#"{"workers": 3, "autoreset_mode": "SameStep"}"#).unwrap();
        let expected =
            WorkerOptions { workers: 3, autoreset_mode: AutoresetMode::SameStep, ..WorkerOptions::default() };
        assert_eq!(options, expected);
        assert!(serde_json::from_str::<WorkerOptions>(r#"{"worker": 3}"#).is_err());
        let group = r#"{"name": "gym:CartPole-v1", "num_envs": 2, "options": {"kwargs": {"sutton_barto_reward": true}}}"#;
        let group: EnvGroup = serde_json::from_str(group).unwrap();
        assert_eq!(group.options.kwargs["sutton_barto_reward"], true);
    }

    #[test]
    fn batch_sizes_fit_the_environments() {
        let size = |batch_size, batch_order| {
            WorkerOptions { batch_size, batch_order, ..WorkerOptions::default() }.batch_size_for(6)
        };
        assert_eq!(size(0, BatchOrder::FirstCome).unwrap(), 6);
        assert_eq!(size(4, BatchOrder::FirstCome).unwrap(), 4);
        assert!(matches!(size(7, BatchOrder::FirstCome), Err(BuildError::BatchSize { .. })));
        assert!(matches!(size(4, BatchOrder::InTurn), Err(BuildError::UnevenTurns { .. })));
    }

    #[test]
    fn there_are_no_more_workers_than_environments() {
        let workers =
            |workers, num_envs| WorkerOptions { workers, ..WorkerOptions::default() }.workers_for(num_envs);
        assert_eq!((workers(3, 8), workers(9, 8), workers(0, 1)), (3, 8, 1));
    }

    #[test]
    fn limits_are_positive() {
        assert_eq!(limit("timeout", 0.5).unwrap(), Duration::from_millis(500));
        for seconds in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(limit("timeout", seconds).is_err());
        }
    }
}
