use std::ops::Range;

use rl_env::{AutoresetMode, EpisodeStats, VectorError, snapshot};
use serde::{Deserialize, Serialize};

use crate::slot::Outcome;

/// The version of the format. Changing any type here requires a new one.
const VERSION: u32 = 2;

/// The state of some environments of a vector environment between two steps.
#[derive(Serialize, Deserialize)]
pub(super) struct VectorState {
    version: u32,
    mode: AutoresetMode,
    /// In the order of the results: the last batch received, then the results still to be received.
    pub(super) slots: Vec<SlotState>,
}

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

impl VectorState {
    pub(super) fn new(mode: AutoresetMode, slots: Vec<SlotState>) -> Self {
        Self { version: VERSION, mode, slots }
    }

    pub(super) fn encode(&self) -> Result<Vec<u8>, VectorError> {
        postcard::to_stdvec(self).map_err(|error| VectorError::BadSnapshot(error.to_string()))
    }

    /// Reads a state of this format.
    fn read(bytes: &[u8]) -> Result<Self, VectorError> {
        snapshot::decode_version(bytes, VERSION, |state: &Self| state.version)
    }

    /// Decodes a state and checks that it fits vector environments of this mode and row length.
    pub(super) fn decode(bytes: &[u8], mode: AutoresetMode, row_bytes: usize) -> Result<Self, VectorError> {
        let bad = |reason: String| Err(VectorError::BadSnapshot(reason));
        let state = Self::read(bytes)?;
        if state.mode != mode {
            return bad(format!("its autoreset mode is {:?}, but must be {mode:?}", state.mode));
        }
        if mode == AutoresetMode::SameStep && state.slots.iter().any(|slot| slot.episode_over) {
            return bad("an episode is over, although the next one begins in the same step".to_owned());
        }
        let mut final_observations = state.slots.iter().filter_map(|slot| slot.final_observation.as_ref());
        if final_observations.any(|row| row.len() != row_bytes) {
            return bad(format!("the length of a final observation is not {row_bytes}"));
        }
        Ok(state)
    }

    /// Appends the environments of another state, whose ids become those after the environments of this one.
    fn append(&mut self, other: Self) -> Result<(), VectorError> {
        if other.mode != self.mode {
            let reason = format!("the autoreset modes {:?} and {:?} cannot be joined", self.mode, other.mode);
            return Err(VectorError::BadSnapshot(reason));
        }
        let first = self.slots.len();
        let renumbered =
            other.slots.into_iter().map(|slot| SlotState { env_id: first + slot.env_id, ..slot });
        self.slots.extend(renumbered);
        Ok(())
    }

    /// Returns true if the environments are in order.
    fn is_in_order(&self) -> bool {
        self.slots.iter().map(|slot| slot.env_id).eq(0..self.slots.len())
    }

    /// Checks that the state has exactly the environments of these tasks, in order if a batch holds all of them.
    pub(super) fn check_environments(&self, tasks: &[&str], is_ordered: bool) -> Result<(), VectorError> {
        let mut ids: Vec<_> = self.slots.iter().map(|slot| slot.env_id).collect();
        if !is_ordered {
            ids.sort_unstable();
        }
        if !ids.into_iter().eq(0..tasks.len()) {
            return Err(VectorError::BadSnapshot(format!(
                "it must contain each of the {} environments once, in the order of the batches",
                tasks.len()
            )));
        }
        self.check_tasks(self.slots.iter().map(|slot| tasks[slot.env_id]))
    }

    /// Checks that the states are those of environments of these tasks, in order.
    pub(super) fn check_tasks<'a>(&self, tasks: impl Iterator<Item = &'a str>) -> Result<(), VectorError> {
        for (slot, task) in self.slots.iter().zip(tasks) {
            if slot.task != task {
                return Err(VectorError::BadSnapshot(format!(
                    "the state of an environment of {} cannot be restored to one of {task}",
                    slot.task
                )));
            }
        }
        Ok(())
    }
}

/// Joins snapshots of several vector environments, each of whose batches hold all environments, into the snapshot of a
/// single vector environment with all their environments in this order.
pub fn join_snapshots(parts: &[Vec<u8>]) -> Result<Vec<u8>, VectorError> {
    let bad = |reason: &str| VectorError::BadSnapshot(reason.to_owned());
    let mut joined: Option<VectorState> = None;
    for part in parts {
        let state = VectorState::read(part)?;
        if !state.is_in_order() {
            return Err(bad("its environments must be in order"));
        }
        match &mut joined {
            Some(joined) => joined.append(state)?,
            None => joined = Some(state),
        }
    }
    joined.ok_or_else(|| bad("none was given"))?.encode()
}

/// Returns the part of a snapshot that belongs to some environments, for a vector environment that has only these. The
/// snapshot must come from a vector environment whose batches hold all environments.
pub fn part_of_snapshot(snapshot: &[u8], envs: Range<usize>) -> Result<Vec<u8>, VectorError> {
    let state = VectorState::read(snapshot)?;
    if state.slots.len() < envs.end || !state.is_in_order() {
        let reason = format!("it must contain at least the first {} environments, in order", envs.end);
        return Err(VectorError::BadSnapshot(reason));
    }
    let slots = state.slots.into_iter().skip(envs.start).take(envs.len());
    let slots = slots.map(|slot| SlotState { env_id: slot.env_id - envs.start, ..slot }).collect();
    VectorState { slots, ..VectorState::new(state.mode, Vec::new()) }.encode()
}
