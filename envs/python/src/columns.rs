//! The entries of the info dictionaries, the same for NumPy and for XLA.

use ale::{AtariInfo, RAM};
use rl_env::{Batch, EpisodeStats, VectorEnv};
use vector::{AtariPlayersVectorEnv, AtariVectorEnv};

/// The environments of a batch.
pub(crate) trait Games: VectorEnv {
    /// Returns the action mask of an environment; empty if there is none.
    fn mask(&self, env: usize) -> &[bool];

    /// Returns the RAM of an environment that is not in flight.
    fn ram(&self, env: usize) -> [u8; RAM];
}

impl Games for AtariVectorEnv {
    fn mask(&self, env: usize) -> &[bool] {
        self.action_mask(env).unwrap_or_default()
    }

    fn ram(&self, env: usize) -> [u8; RAM] {
        self.with_env(env, |env| *env.ale().ram()).unwrap_or([0; RAM])
    }
}

impl Games for AtariPlayersVectorEnv {
    fn mask(&self, env: usize) -> &[bool] {
        self.action_mask(env).unwrap_or_default()
    }

    fn ram(&self, env: usize) -> [u8; RAM] {
        let (shared, _) = self.shared_and_player(env);
        self.with_shared(shared, |env| *env.ale().ram()).unwrap_or([0; RAM])
    }
}

/// A batch, and the data from which the entries are computed.
pub(crate) struct Rows<'a> {
    pub(crate) batch: &'a Batch,
    pub(crate) infos: &'a [AtariInfo],
    final_infos: &'a [AtariInfo],
    env: &'a dyn Games,
}

impl<'a> Rows<'a> {
    /// Returns the last batch of an environment.
    pub(crate) fn last_batch(env: &'a AtariVectorEnv) -> Self {
        Self { batch: env.batch(), infos: env.infos(), final_infos: env.final_infos(), env }
    }

    /// Returns the last batch of an environment with a row for each player.
    pub(crate) fn of_players(env: &'a AtariPlayersVectorEnv) -> Self {
        Self { batch: env.batch(), infos: env.infos(), final_infos: env.final_infos(), env }
    }

    pub(crate) fn len(&self) -> usize {
        self.batch.len()
    }

    /// Returns the action mask of a row.
    pub(crate) fn action_mask(&self, row: usize) -> &'a [bool] {
        self.env.mask(self.batch.env_ids[row])
    }

    /// Returns the RAM of a row's environment.
    pub(crate) fn ram(&self, row: usize) -> [u8; RAM] {
        // Only environments of later batches are in flight.
        self.env.ram(self.batch.env_ids[row])
    }

    fn episode(&self, row: usize) -> EpisodeStats {
        self.batch.episodes[row].unwrap_or_default()
    }
}

/// One entry of an info dictionary, with a value for each row.
pub(crate) struct Column {
    /// The dictionary within info that contains the entry.
    pub(crate) group: Option<&'static str>,
    pub(crate) name: &'static str,
    pub(crate) values: Values,
}

/// The value of a row.
pub(crate) enum Values {
    I32(fn(&Rows<'_>, usize) -> i32),
    /// 32 bits in XLA, because JAX enables 64-bit types only on request.
    I64(fn(&Rows<'_>, usize) -> i64),
    /// Also 32 bits in XLA.
    F64(fn(&Rows<'_>, usize) -> f64),
    Bool(fn(&Rows<'_>, usize) -> bool),
    /// One boolean for each action of the game with the most actions.
    ActionMask,
    /// The bytes of RAM.
    Ram,
}

const fn column(name: &'static str, values: Values) -> Column {
    Column { group: None, name, values }
}

const fn grouped(group: &'static str, name: &'static str, values: Values) -> Column {
    Column { group: Some(group), name, values }
}

/// The entries of ale-py.
pub(crate) const OF_ALE_PY: &[Column] = &[
    column("env_id", Values::I32(|rows, row| rows.batch.env_ids[row] as i32)),
    column("lives", Values::I32(|rows, row| rows.infos[row].lives)),
    column("frame_number", Values::I32(|rows, row| rows.infos[row].frame_number as i32)),
    column("episode_frame_number", Values::I32(|rows, row| rows.infos[row].episode_frame_number as i32)),
];

/// The entries that ale-py does not have.
pub(crate) const EXTRA: &[Column] = &[
    column("game_id", Values::I32(|rows, row| rows.env.task_ids()[rows.batch.env_ids[row]] as i32)),
    column("mode", Values::I32(|rows, row| rows.infos[row].mode as i32)),
    column("difficulty", Values::I32(|rows, row| rows.infos[row].difficulty as i32)),
    column("raw_reward", Values::I32(|rows, row| rows.batch.raw_rewards[row] as i32)),
    column("steps", Values::I32(|rows, row| rows.batch.steps[row] as i32)),
    column("autoreset", Values::Bool(|rows, row| rows.batch.autoreset[row])),
    column("continues", Values::Bool(|rows, row| rows.batch.continues[row])),
    column("game_over", Values::Bool(|rows, row| rows.infos[row].game_over)),
    column("elapsed_frames", Values::I32(|rows, row| rows.infos[row].elapsed_frames as i32)),
    column("action_mask", Values::ActionMask),
    column("ram", Values::Ram),
];

/// The statistics of the episodes that ended, in the format of Gymnasium's `RecordEpisodeStatistics`, and their final
/// info.
pub(crate) const OF_EPISODES: &[Column] = &[
    grouped("episode", "r", Values::F64(|rows, row| rows.episode(row).total_reward)),
    grouped("episode", "l", Values::I64(|rows, row| rows.episode(row).length as i64)),
    grouped("episode", "t", Values::F64(|rows, row| rows.batch.episode_seconds[row])),
    column("_episode", Values::Bool(|rows, row| rows.batch.episodes[row].is_some())),
    grouped("final_info", "lives", Values::I32(|rows, row| rows.final_infos[row].lives)),
    grouped("final_info", "frame_number", Values::I32(|rows, row| rows.final_infos[row].frame_number as i32)),
    grouped(
        "final_info",
        "episode_frame_number",
        Values::I32(|rows, row| rows.final_infos[row].episode_frame_number as i32),
    ),
];
