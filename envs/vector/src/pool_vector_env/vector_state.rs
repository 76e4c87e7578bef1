use std::ops::Range;

use rl_env::snapshot::{self, SavedEnv, SavedEnvs};
use rl_env::{AutoresetMode, EpisodeStats, VectorError};
use serde::{Deserialize, Serialize};

use crate::slot::Outcome;

/// The state of one environment, its episode and its last outcome.
#[derive(Serialize, Deserialize)]
pub(super) struct SlotState {
    pub(super) env_id: usize,
    pub(super) task: String,
    pub(super) env: Vec<u8>,
    pub(super) episode: EpisodeStats,
    pub(super) episode_over: bool,
    pub(super) outcome: Outcome,
    /// The last observation of the episode, if the last step ended one. Otherwise the final observation equals the
    /// current one, which the environment can write.
    pub(super) final_observation: Option<Vec<u8>>,
}

impl SavedEnv for SlotState {
    const VERSION: u32 = 2;

    fn env_id(&self) -> usize {
        self.env_id
    }

    fn set_env_id(&mut self, env_id: usize) {
        self.env_id = env_id;
    }

    fn task(&self) -> &str {
        &self.task
    }
}

/// Decodes a snapshot and checks that it fits vector environments of this mode and row length.
pub(super) fn decode(
    snapshot: &[u8],
    mode: AutoresetMode,
    row_bytes: usize,
) -> Result<SavedEnvs<SlotState>, VectorError> {
    let bad = |reason: String| Err(VectorError::BadSnapshot(reason));
    let saved = SavedEnvs::<SlotState>::decode(snapshot, mode)?;
    if mode == AutoresetMode::SameStep && saved.envs.iter().any(|slot| slot.episode_over) {
        return bad("an episode is over, although the next one begins in the same step".to_owned());
    }
    let mut final_observations = saved.envs.iter().filter_map(|slot| slot.final_observation.as_ref());
    if final_observations.any(|row| row.len() != row_bytes) {
        return bad(format!("the length of a final observation is not {row_bytes}"));
    }
    Ok(saved)
}

/// Joins snapshots of several vector environments, each of whose batches hold all environments, into the snapshot of a
/// single vector environment with all their environments in this order.
pub fn join_snapshots(parts: &[Vec<u8>]) -> Result<Vec<u8>, VectorError> {
    snapshot::join_snapshots::<SlotState>(parts)
}

/// Returns the part of a snapshot that belongs to some environments, for a vector environment that has only these. The
/// snapshot must come from a vector environment whose batches hold all environments.
pub fn part_of_snapshot(snapshot: &[u8], envs: Range<usize>) -> Result<Vec<u8>, VectorError> {
    snapshot::part_of_snapshot::<SlotState>(snapshot, envs)
}
