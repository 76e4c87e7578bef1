//! What the user wrote: the form of an experiment's TOML file, with the defaults.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use algorithms::dqn::DqnConfig;
use algorithms::networks::PolicyConfig;
use algorithms::ppo::PpoConfig;
use algorithms::pqn::PqnConfig;
use serde::de::{self, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// An experiment as it is written. The defaults are those of `CleanRL`'s `ppo_atari.py`, on the built-in open game.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RawConfig {
    pub(crate) experiment: RawExperiment,
    pub(crate) environments: RawEnvironments,
    pub(crate) policy: PolicyConfig,
    pub(crate) ppo: PpoConfig,
    pub(crate) dqn: DqnConfig,
    pub(crate) pqn: PqnConfig,
    pub(crate) replay: RawReplay,
    pub(crate) evaluation: RawEvaluation,
    pub(crate) checkpoints: RawCheckpoints,
}

/// How an agent learns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Algorithm {
    /// Proximal Policy Optimization.
    #[default]
    Ppo,
    /// DQN, with whatever was added to it.
    Dqn,
    /// The parallelised Q-network.
    Pqn,
}

impl Algorithm {
    /// As people write it.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Ppo => "PPO",
            Self::Dqn => "DQN",
            Self::Pqn => "PQN",
        }
    }
}

/// As commands and keys have it.
impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ppo => "ppo",
            Self::Dqn => "dqn",
            Self::Pqn => "pqn",
        })
    }
}

/// `[experiment]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RawExperiment {
    /// How the agent learns.
    pub(crate) algorithm: Algorithm,
    /// Seed of everything random.
    pub(crate) seed: u64,
    /// Emulated frames to train for, over all environments.
    pub(crate) total_frames: u64,
    /// Threads that emulate and learn; 0 is one for each core.
    pub(crate) num_threads: usize,
    /// What the networks run on: `cpu`.
    pub(crate) device: String,
}

/// `[environments]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RawEnvironments {
    /// Ids and sets of games, as a list or as one text with commas.
    #[serde(deserialize_with = "names")]
    pub(crate) games: Vec<String>,
    /// Environments of each game.
    pub(crate) num_envs: usize,
    /// Emulated frames of a step.
    pub(crate) frame_skip: u32,
    /// How likely a frame repeats the action before (sticky actions).
    pub(crate) repeat_action_probability: f32,
    /// Rows of an observation. The network's convolutions see 36 and every eight more (44, .., 84) whole; of a size
    /// between these they leave out the last rows.
    pub(crate) img_height: usize,
    /// Columns of an observation; the same holds for them.
    pub(crate) img_width: usize,
    /// Pictures in an observation, the newest last.
    pub(crate) stack_num: usize,
    /// Whether a picture is the maximum of the last two frames.
    pub(crate) maxpool: bool,
    /// Most frames that an episode begins with doing nothing.
    pub(crate) noop_max: u32,
    /// Whether an episode begins with the fire button, where the game has one.
    pub(crate) use_fire_reset: bool,
    /// Whether the loss of a life ends the return that is learned, while the game goes on.
    pub(crate) episodic_life: bool,
    /// Whether learners see rewards clipped to -1..=1.
    pub(crate) reward_clipping: bool,
    /// Whether all 18 actions are offered, not only those that do something in the game.
    pub(crate) full_action_space: bool,
    /// Frames after which an episode is cut off.
    pub(crate) max_num_frames_per_episode: u32,
    /// Whether the bounded numbers of observations that are no pictures are brought to -1..=1.
    pub(crate) rescale_observations: bool,
    /// Whether two halves of the environments take turns.
    pub(crate) halves: bool,
    /// What single games have of their own, by their ids.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) game: BTreeMap<String, RawGame>,
}

/// `[environments.game.NAME]`: what is absent is as in `[environments]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RawGame {
    /// Environments of the game.
    pub(crate) num_envs: Option<usize>,
    /// Emulated frames that the game is trained on, over all its environments; then these rest.
    pub(crate) total_frames: Option<u64>,
    /// The game's mode.
    pub(crate) mode: Option<u32>,
    /// The difficulty switches.
    pub(crate) difficulty: Option<u32>,
    /// Frames after which an episode is cut off.
    pub(crate) max_num_frames_per_episode: Option<u32>,
}

/// `[replay]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RawReplay {
    /// The folder in which a file holds the replay's pictures; without it they are in memory.
    pub(crate) folder: Option<PathBuf>,
    /// Whether checkpoints hold the replay. Without it a run that is resumed fills its replay again before it learns.
    pub(crate) in_checkpoint: bool,
}

impl Default for RawReplay {
    fn default() -> Self {
        Self { folder: None, in_checkpoint: true }
    }
}

/// `[evaluation]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RawEvaluation {
    /// Emulated frames of training between two evaluations; 0 for one at the end only.
    pub(crate) interval_frames: u64,
    /// Episodes of each game in an evaluation; 0 for none.
    pub(crate) episodes: usize,
    /// Whether the agent takes the best action each time, rather than leaving some to chance as in training.
    pub(crate) greedy: bool,
    /// How likely a frame repeats the action before; absent for the probability of training.
    pub(crate) repeat_action_probability: Option<f32>,
}

/// `[checkpoints]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RawCheckpoints {
    /// Emulated frames between two checkpoints; 0 for one at the end only.
    pub(crate) interval_frames: u64,
    /// The newest checkpoints that are kept: 1 or more.
    pub(crate) keep_last: usize,
    /// Whether the best checkpoint is kept as well: that with the highest score of the newest evaluation, or with the
    /// highest recent return where the training is not evaluated on its way.
    pub(crate) keep_best: bool,
}

impl Default for RawExperiment {
    fn default() -> Self {
        Self {
            algorithm: Algorithm::Ppo,
            seed: 1,
            total_frames: 40_000_000,
            num_threads: 0,
            device: "cpu".to_owned(),
        }
    }
}

impl Default for RawEnvironments {
    fn default() -> Self {
        Self {
            games: vec!["harvest".to_owned()],
            num_envs: 8,
            frame_skip: 4,
            repeat_action_probability: 0.0,
            img_height: 84,
            img_width: 84,
            stack_num: 4,
            maxpool: true,
            noop_max: 30,
            use_fire_reset: true,
            episodic_life: true,
            reward_clipping: true,
            full_action_space: false,
            max_num_frames_per_episode: 108_000,
            rescale_observations: false,
            halves: false,
            game: BTreeMap::new(),
        }
    }
}

impl Default for RawEvaluation {
    fn default() -> Self {
        Self { interval_frames: 0, episodes: 10, greedy: false, repeat_action_probability: None }
    }
}

impl Default for RawCheckpoints {
    fn default() -> Self {
        Self { interval_frames: 4_000_000, keep_last: 3, keep_best: true }
    }
}

/// A list of names, or one text with commas.
fn names<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    struct Names;

    impl<'de> Visitor<'de> for Names {
        type Value = Vec<String>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list of names, or names with commas between them")
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
            Ok(text.split(',').map(|name| name.trim().to_owned()).collect())
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
            let mut names = Vec::new();
            while let Some(name) = list.next_element()? {
                names.push(name);
            }
            Ok(names)
        }
    }

    deserializer.deserialize_any(Names)
}
