use rl_env::{AutoresetMode, EnvError, EpisodeStats};
use serde::{Deserialize, Serialize};

use crate::slot::Outcome;

/// The form of the bytes; a change of any type here needs a new number.
const VERSION: u32 = 1;

/// A whole vector environment between two steps.
#[derive(Serialize, Deserialize)]
pub(crate) struct VectorState {
    version: u32,
    mode: AutoresetMode,
    /// The task of every environment.
    tasks: Vec<String>,
    pub(crate) slots: Vec<SlotState>,
}

/// One environment, its episode and the last report about it.
#[derive(Serialize, Deserialize)]
pub(crate) struct SlotState {
    pub(crate) env: Vec<u8>,
    pub(crate) episode: EpisodeStats,
    pub(crate) episode_over: bool,
    pub(crate) outcome: Outcome,
    /// The last observation of the episode that the last step ended. In all other cases the final observation is the
    /// present one, which the environment itself can show.
    pub(crate) final_observation: Option<Vec<u8>>,
}

impl VectorState {
    pub(crate) fn new(mode: AutoresetMode, tasks: Vec<String>, slots: Vec<SlotState>) -> Self {
        Self { version: VERSION, mode, tasks, slots }
    }

    pub(crate) fn encode(&self) -> Result<Vec<u8>, EnvError> {
        postcard::to_stdvec(self).map_err(|error| EnvError::BadSnapshot(error.to_string()))
    }

    /// Reads a state and makes sure that it fits a vector environment of these tasks.
    pub(crate) fn decode(
        bytes: &[u8],
        mode: AutoresetMode,
        tasks: &[String],
        row_bytes: usize,
    ) -> Result<Self, EnvError> {
        let bad = |reason: String| Err(EnvError::BadSnapshot(reason));
        let state: Self = match postcard::take_from_bytes(bytes) {
            Ok((state, [])) => state,
            Ok((_, rest)) => return bad(format!("{} bytes too many", rest.len())),
            Err(error) => return bad(error.to_string()),
        };
        if state.version != VERSION {
            return bad(format!("it has format {}, this program reads format {VERSION}", state.version));
        }
        if state.mode != mode {
            return bad(format!("its autoreset mode is {:?}, not {mode:?}", state.mode));
        }
        if state.tasks != tasks || state.slots.len() != tasks.len() {
            return bad(format!("its environments are {:?}, not {tasks:?}", state.tasks));
        }
        let wrong_length =
            |slot: &SlotState| slot.final_observation.as_ref().is_some_and(|row| row.len() != row_bytes);
        if state.slots.iter().any(wrong_length) {
            return bad(format!("a final observation does not have {row_bytes} bytes"));
        }
        Ok(state)
    }
}
