use serde::{Deserialize, Serialize};

use crate::ObservationBuffer;

/// The actions of a batch, row after row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Actions<'a> {
    /// Integers; as many for each row as its action space has choices.
    Discrete(&'a [i32]),
    /// Floats; as many for each row as its action space has elements.
    Continuous(&'a [f32]),
}

/// The course of one finished episode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EpisodeStats {
    /// Sum of the raw (unclipped) rewards.
    pub total_reward: f64,
    /// Number of steps (agent decisions, not emulated frames).
    pub length: u64,
}

/// What `recv` hands over: one row for each environment that has finished its step.
///
/// All fields have one entry a row. In ordered mode row `i` belongs to environment `i`; else the rows stand in the order
/// in which the environments finished.
#[derive(Clone, Debug)]
pub struct Batch {
    /// The environment of each row.
    pub env_ids: Vec<usize>,
    /// The observation of each row.
    pub observations: ObservationBuffer,
    /// The reward that learners see.
    pub rewards: Vec<f32>,
    /// The reward before clipping.
    pub raw_rewards: Vec<f32>,
    /// The task itself ended with this step.
    pub terminated: Vec<bool>,
    /// The episode was cut off with this step.
    pub truncated: Vec<bool>,
    /// Under [`AutoresetMode::NextStep`](crate::AutoresetMode::NextStep): this row only reset its environment, its
    /// action was ignored. In every mode: the environment made no step, because it has none left. Such a row is no
    /// transition.
    pub autoreset: Vec<bool>,
    /// `terminated` is meant for the learner alone, as the loss of a life: the episode goes on, without a reset.
    /// `EnvPool` reports such a row as a discount of zero.
    pub continues: Vec<bool>,
    /// Actions that the environment has performed for this row: 1 for a step, the length of a sequence that was not
    /// cut short, 0 for a reset.
    pub steps: Vec<u32>,
    /// Statistics of the episode that ended with this step.
    pub episodes: Vec<Option<EpisodeStats>>,
    /// Seconds by the clock that the episode took that ended with this step; 0 where none ended. All else in a batch
    /// depends on seeds and actions alone.
    pub episode_seconds: Vec<f64>,
    /// Under [`AutoresetMode::SameStep`](crate::AutoresetMode::SameStep): the last observation of the episode that
    /// ended with this step; for rows where none ended, the current observation. Empty (no rows) in other modes.
    pub final_observations: ObservationBuffer,
}

impl Batch {
    /// A batch of `rows` rows with observations of `row_bytes` bytes; `with_final` keeps final observations.
    pub fn new(rows: usize, row_bytes: usize, with_final: bool) -> Self {
        Self {
            env_ids: (0..rows).collect(),
            observations: ObservationBuffer::new(rows, row_bytes),
            rewards: vec![0.0; rows],
            raw_rewards: vec![0.0; rows],
            terminated: vec![false; rows],
            truncated: vec![false; rows],
            autoreset: vec![false; rows],
            continues: vec![false; rows],
            steps: vec![0; rows],
            episodes: vec![None; rows],
            episode_seconds: vec![0.0; rows],
            final_observations: ObservationBuffer::new(if with_final { rows } else { 0 }, row_bytes),
        }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.env_ids.len()
    }

    /// Whether the batch has no rows.
    pub fn is_empty(&self) -> bool {
        self.env_ids.is_empty()
    }
}
