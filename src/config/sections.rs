use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use settings::{at_least, between, settings};
use vector::{MAX_NUM_ENVS, MAX_NUM_THREADS};

use super::drawn::Drawn;
use super::gymnasium_settings::GymnasiumSettings;
use super::self_play_settings::SelfPlaySettings;
use crate::learner::Algorithm;
use crate::selection;

settings! {
    /// The run as a whole.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub(crate) struct RunSettings {
        /// The algorithm that trains the agent.
        pub(crate) algorithm: Algorithm = Algorithm::Ppo; fixed "the state of the learner depends on it",
        /// Seed of all random numbers.
        pub(crate) seed: u64 = 1; fixed "all random numbers of the run follow from it",
        /// The number of emulated frames to train for, over all environments; at least enough for one update.
        pub(crate) total_frames: u64 = 40_000_000,
        /// The number of threads for emulation and learning; 0 means one per core. Using more threads than cores is
        /// slower.
        pub(crate) num_threads: usize = 0 => between(0.0, MAX_NUM_THREADS as f64),
        /// The device that runs the networks: `cpu`, `wgpu`, `vulkan` or `cuda`, with an index such as `cuda:1` to
        /// choose one of several GPUs. GPUs need a build with the matching Cargo feature (docs/src/how-to/devices.md).
        pub(crate) device: String = "cpu".to_owned(),
    }
}

settings! {
    /// The games and their preprocessing.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub(crate) struct EnvironmentSettings {
        /// Ids and sets of the games to train on (`ale-train games` lists them), separated by commas; a leading `-`
        /// excludes a game or set. In a configuration file, a list.
        pub(crate) games: Vec<String> = vec!["harvest".to_owned()]; fixed "the checkpoint has the state of their environments",
        /// The number of environments of each game.
        pub(crate) num_envs: usize = 8 => between(1.0, MAX_NUM_ENVS as f64); fixed "the checkpoint has the state of each environment",
        /// The number of emulated frames per step.
        pub(crate) frame_skip: u32 = 4 => between(1.0, ale::MAX_FRAME_SKIP as f64); fixed "frames, steps and discounts so far were counted with it",
        /// Probability that a frame repeats the previous action (sticky actions).
        pub(crate) repeat_action_probability: f32 = 0.0 => between(0.0, 1.0),
        /// Height of an observation in pixels; networks need 36 or more. At 36, 44, ..., 84 the convolutions cover all
        /// rows; at other heights they ignore the last ones.
        pub(crate) img_height: usize = 84 => between(1.0, ale::MAX_SIDE as f64); fixed "the network was trained on other observations",
        /// Width of an observation in pixels, with the same restrictions.
        pub(crate) img_width: usize = 84 => between(1.0, ale::MAX_SIDE as f64); fixed "the network was trained on other observations",
        /// The number of frames in an observation, the newest last.
        pub(crate) stack_num: usize = 4 => between(1.0, ale::MAX_STACK_NUM as f64); fixed "the network was trained on other observations",
        /// True if a frame of an observation is the pixelwise maximum of the last two emulated frames.
        pub(crate) maxpool: bool = true; fixed "the network was trained on other observations",
        /// Upper bound (exclusive) of the random number of no-op frames at the start of an episode; 0 and 1 play none.
        pub(crate) noop_max: u32 = 30 => between(0.0, ale::MAX_NOOP_MAX as f64),
        /// True if an episode starts with the fire button, in games that have it.
        pub(crate) use_fire_reset: bool = true,
        /// True if the fire button is also pressed after every lost life, in training and in evaluation, in games that
        /// have it. As in CleanRL's wrappers, a step without input comes before it and a step with the third action
        /// after it. The agent does not see these steps.
        pub(crate) fire_after_lost_life: bool = true,
        /// True if the loss of a life ends the learned return, while the game continues.
        pub(crate) episodic_life: bool = true,
        /// True if training rewards are clipped to -1..=1.
        pub(crate) reward_clipping: bool = true,
        /// True if every game has all 18 actions, rather than only those with an effect in the game.
        pub(crate) full_action_space: bool = false; fixed "the heads of the network have an output for each action",
        /// True if the actions of Atari games are three choices (the button, the horizontal and the vertical direction)
        /// instead of one. Networks then have 8 outputs that mean the same in every game, instead of up to 18. The
        /// earlier choices limit the options of the later ones to actions that the game has.
        pub(crate) factored_actions: bool = false; fixed "the heads of the network have an output for each option of each choice",
        /// The number of frames after which an episode is truncated.
        pub(crate) max_num_frames_per_episode: u32 = 108_000 => at_least(1.0),
        /// True if the bounded observations of classic control are rescaled to -1..=1. Pixels are always rescaled to
        /// 0..=1.
        pub(crate) rescale_observations: bool = false; fixed "the network was trained on other observations",
        /// True if two halves of the environments take turns: one steps while the actions of the other are computed.
        /// Does not change the result of training if each half has at least two environments. Not available for `dqn`
        /// and `sac`, nor with several processes. If absent, a new run takes turns where that is possible, unless it
        /// runs on the CPU.
        pub(crate) halves: Option<bool> = None; fixed "the environments in the checkpoint are in the order of their turns",
        /// Environments in Python.
        pub(crate) gymnasium: GymnasiumSettings = GymnasiumSettings::default(),
        /// Games of several players.
        pub(crate) self_play: SelfPlaySettings = SelfPlaySettings::default(),
        /// Settings of single games.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        pub(crate) game: BTreeMap<String, GameSettings> = BTreeMap::new(),
    }
}

settings! {
    /// Overrides for a single game, such as `[environments.game.pong]`; absent keys have the values of
    /// `[environments]`. Each game gets a share of `experiment.total_frames` in proportion to its number of
    /// environments, until it has used up its own `total_frames`. The run ends when `experiment.total_frames` or the
    /// budgets of all games are used up.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub(crate) struct GameSettings {
        /// The number of environments of the game.
        pub(crate) num_envs: Option<usize> = None => between(1.0, MAX_NUM_ENVS as f64); fixed "the checkpoint has the state of each environment",
        /// The maximum number of emulated frames that the game is trained on, over all its environments: at least one
        /// step of each. After that, their episodes are truncated and they rest while the other games continue.
        pub(crate) total_frames: Option<u64> = None; fixed "the number of steps of each game so far depends on it",
        /// The game mode (`ale-train games --json` lists them), or a list of modes, of which each episode draws one;
        /// the default of the game if absent.
        pub(crate) mode: Option<Drawn> = None; fixed "the environments in the checkpoint have another mode",
        /// The position of the difficulty switches (`ale-train games --json` lists them), or a list of positions, of
        /// which each episode draws one; the default of the game if absent.
        pub(crate) difficulty: Option<Drawn> = None; fixed "the environments in the checkpoint have another difficulty",
        /// The number of frames after which an episode is truncated.
        pub(crate) max_num_frames_per_episode: Option<u32> = None => at_least(1.0),
    }
}

settings! {
    /// Evaluations: full episodes in separate environments without learning, during training and at its end, where a
    /// random player is evaluated too.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub(crate) struct EvaluationSettings {
        /// The number of emulated training frames between two evaluations; 0 for a single one at the end.
        pub(crate) interval_frames: u64 = 0,
        /// The number of episodes of each game in an evaluation; 0 for no evaluations.
        pub(crate) episodes: usize = 10,
        /// True if the agent takes the best action in every step. Otherwise it samples as in training.
        pub(crate) greedy: bool = false,
        /// Probability that a frame repeats the previous action; that of training if absent. Set it to 0.25 to compare
        /// an agent that is trained without sticky actions with results that have them.
        pub(crate) repeat_action_probability: Option<f32> = None => between(0.0, 1.0),
    }
}

settings! {
    /// Checkpoints.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub(crate) struct CheckpointSettings {
        /// The number of emulated frames between two checkpoints; 0 turns this off. With `interval_minutes = 0` as
        /// well, the only checkpoint is the one at the end.
        pub(crate) interval_frames: u64 = 4_000_000,
        /// The number of minutes after which a checkpoint is written, regardless of the number of frames; 0 turns this
        /// off. A run also has checkpoints at its start and after 1, 3 and 10 minutes. They are left out if this is
        /// shorter (or 0) or if the checkpoint would contain more than 1 GiB of experience. Writing takes at most a
        /// twentieth of the time: the interval grows if necessary.
        pub(crate) interval_minutes: f64 = 10.0 => at_least(0.0),
        /// The number of recent checkpoints to keep.
        pub(crate) keep_last: usize = 3 => at_least(1.0),
        /// True if the best checkpoint is kept too: that of the evaluation with the highest score, after which one is
        /// written, or, without evaluations during training, the one with the highest recent return.
        pub(crate) keep_best: bool = true,
    }
}

settings! {
    /// Training by several processes, started by `mpirun` or `srun` (docs/src/how-to/clusters.md).
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub(crate) struct DistributedSettings {
        /// The number of shards of the environments, a power of two: the gradients of a minibatch are computed shard by
        /// shard and added. At most this many processes can train the run, and the result is the same for any number of
        /// them. 0 means 8 if a launcher starts the run, or fewer if there are fewer environments, and 1 otherwise.
        pub(crate) shards: usize = 0 => between(0.0, 1024.0); fixed "sums of gradients are rounded differently",
        /// True if any number of processes gives the same weights, bit for bit. Otherwise all environments of a process
        /// are one shard, which is faster, and `shards` has no effect.
        pub(crate) exact: bool = true,
        /// True if the curves include the speed of each process, `charts/rank_SPS/0` and so on: its steps per second
        /// while it acts and its environments step. This reveals a slow machine.
        pub(crate) report_ranks: bool = false,
    }
}

impl EnvironmentSettings {
    /// Returns true if two halves of the environments take turns.
    pub(crate) fn take_turns(&self) -> bool {
        self.halves == Some(true)
    }

    /// Replaces other spellings of games with their ids. Returns warnings about names that also imply settings.
    pub(crate) fn use_ids(&mut self) -> Result<Vec<String>> {
        selection::check_number(self.games.len()).context("environments.games")?;
        let mut notes = Vec::new();
        for name in &mut self.games {
            let (minus, spelled) = name.strip_prefix('-').map_or(("", name.as_str()), |rest| ("-", rest));
            let Some(id) = selection::id_of_spelling(spelled) else { continue };
            if minus.is_empty() && selection::names_settings(spelled) {
                notes.push(format!(
                    "{spelled} selects the game {id}; settings that this name implies, such as sticky actions, are not \
                     applied"
                ));
            }
            *name = format!("{minus}{id}");
        }
        Ok(notes)
    }

    /// Returns the number of environments of a game.
    pub(crate) fn num_envs_of(&self, game: &str) -> usize {
        self.game.get(game).and_then(|game| game.num_envs).unwrap_or(self.num_envs)
    }
}
